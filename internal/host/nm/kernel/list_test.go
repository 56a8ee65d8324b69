package kernel

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
)

// A link that comes or goes while the kernel lists them is no failure of a change.
func TestAnInterruptedListingIsRepeated(t *testing.T) {
	interrupted, other := fmt.Errorf("list: %w", netlink.ErrDumpInterrupted), errors.New("not permitted")
	for name, c := range map[string]struct {
		answers []error
		calls   int
		err     error
	}{
		"whole at once":        {[]error{nil}, 1, nil},
		"interrupted twice":    {[]error{interrupted, interrupted, nil}, 3, nil},
		"another failure":      {[]error{interrupted, other}, 2, other},
		"interrupted for ever": {nil, listAttempts, interrupted},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			got, err := List(func() (int, error) {
				calls++
				if c.answers == nil {
					return calls, interrupted
				}
				return calls, c.answers[calls-1]
			})
			require.Equal(t, c.err, err)
			require.Equal(t, c.calls, calls)
			require.Equal(t, c.calls, got)
		})
	}
}
