// Package verb is what the verbs of lca-cli share that run or show operations: wiring, the node's lock, exit codes, and
// the status of any operation with its timeline. Each verb's package calls it; it knows no domain and must not import
// an adapter.
package verb

import (
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// Wiring is what main gives every verb that runs or shows operations.
type Wiring struct {
	// Lock is what acting verbs take, so that only one flow changes the node at a time.
	Lock host.NodeLock
	// LockTimeout is how long a verb waits for another to release the node; 0 means two minutes.
	LockTimeout time.Duration
	Log         *slog.Logger
	// Out receives answers; narration goes to Log.
	Out io.Writer
	// Screen is the size of the terminal behind Out; nil where there is none.
	Screen func() (width, height int)
	Clock  flow.Clock
}

// FinalError marks a failure that a retry of the same verb would not mend; main turns it into host.FinalExit.
type FinalError struct{ Cause error }

func (e *FinalError) Error() string { return e.Cause.Error() }

func (e *FinalError) Unwrap() error { return e.Cause }

// Verdict is the error that a verb ends with: leaving for a reboot is success, and what was refused, rolled back or given
// up is final.
func (w Wiring) Verdict(verb string, err error) error {
	switch {
	case err == nil:
		w.Log.Info("finished", "verb", verb)
		return nil
	case errors.Is(err, flow.ErrLeaving):
		w.Log.Info("the node is going down for its reboot", "verb", verb)
		return nil
	case errors.Is(err, operation.ErrRefused), flow.EndingOf(err).Final():
		return &FinalError{err}
	}
	return err
}
