package kernel

import (
	"errors"

	"github.com/vishvananda/netlink"
)

// listAttempts is how often a listing is begun anew. Each takes well under a millisecond on a node with tens of links, and what changes
// all the time without a pause is not to be had at once anyway.
const listAttempts = 20

// List repeats a listing that a change interrupted: the kernel then marks it as incomplete. The last one's error is returned.
func List[T any](list func() (T, error)) (all T, err error) {
	for range listAttempts {
		if all, err = list(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			return all, err
		}
	}
	return all, err
}
