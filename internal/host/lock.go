package host

import (
	"context"
	"fmt"
	"time"
)

// LockFile is where the node's lock is. It is in /run: a reboot ends every hold.
const LockFile = "/run/lca/operation.lock"

// Holder is who has the node.
type Holder struct {
	// Operation names the work, Program what does it. Both are empty for a holder that
	// took the lock without saying who it is.
	Operation string `json:"operation,omitempty"`
	Program   string `json:"program,omitempty"`
	// The lock itself fills in the rest.
	PID   int       `json:"pid,omitempty"`
	Boot  string    `json:"boot,omitempty"`
	Since time.Time `json:"since,omitzero"`
}

func (h Holder) String() string {
	if h.Program == "" {
		return "a program that has not said its name"
	}
	return fmt.Sprintf("%s (%s, pid %d, since %s)", h.Operation, h.Program, h.PID, h.Since.UTC().Format(time.RFC3339))
}

// BusyError says that somebody else has the node.
type BusyError struct{ Holder Holder }

func (e *BusyError) Error() string { return "another operation holds this node: " + e.Holder.String() }

// NodeLock lets one disruptive flow run on the node at a time. A hold ends with the process that
// has it, however that ends: nobody ever waits for the dead.
type NodeLock interface {
	// Acquire takes the node for the program of h, waiting until ctx ends; then the error is a
	// *BusyError that names the holder. It tries at least once. release may be called twice.
	Acquire(ctx context.Context, h Holder) (release func(), err error)
	// Holder says who has the node now, without waiting and without getting in anybody's way. What a dead
	// process, or one of an earlier boot, has left behind is no holder.
	Holder(ctx context.Context) (h Holder, held bool, err error)
}
