package host

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// LockFile is where the node's lock is. It is in /run: a reboot ends every hold.
const LockFile = "/run/lca/operation.lock"

// Holder is who has the node: a process, or an operation between two of its processes.
type Holder struct {
	// Operation names the work, Program what does it. Both are empty for a holder that
	// took the lock without saying who it is.
	Operation string `json:"operation,omitempty"`
	Program   string `json:"program,omitempty"`
	// Phase is how far an unfinished operation is that no process works on; empty for a process.
	Phase string `json:"phase,omitempty"`
	// The lock itself fills in the rest.
	PID   int       `json:"pid,omitempty"`
	Boot  string    `json:"boot,omitempty"`
	Since time.Time `json:"since,omitzero"`
}

// Flow is the kind of the operation, its first word: "ip-config" of "ip-config 20260102-030405-beef".
func (h Holder) Flow() string {
	name, _, _ := strings.Cut(h.Operation, " ")
	return name
}

func (h Holder) String() string {
	switch {
	case h.Phase != "":
		return fmt.Sprintf("%s (unfinished: %s, since %s)", h.Operation, h.Phase, h.Since.UTC().Format(time.RFC3339))
	case h.Program == "":
		return "a program that has not said its name"
	}
	return fmt.Sprintf("%s (%s, pid %d, since %s)", h.Operation, h.Program, h.PID, h.Since.UTC().Format(time.RFC3339))
}

// BusyError says that somebody else has the node.
type BusyError struct{ Holder Holder }

func (e *BusyError) Error() string { return "another operation holds this node: " + e.Holder.String() }

// Standing is a flow whose operations have the node from beginning to end, over reboots, and not only while a process of
// theirs runs.
type Standing struct {
	// Flow is the first word of Operation of those who work on them.
	Flow string
	// Unfinished names the operation under way, with its Phase. One that has ended, or of which the stateroot has gone,
	// is none: nobody would ever let go of the node.
	Unfinished func(ctx context.Context) (h Holder, found bool, err error)
}

// NodeLock lets one disruptive flow run on the node at a time. A hold ends with the process that
// has it, however that ends: nobody ever waits for the dead. An unfinished operation has the node besides, against every flow
// but its own, as long as its journal says so.
type NodeLock interface {
	// Acquire takes the node for the program of h, waiting for other programs until ctx ends; then the error is a
	// *BusyError that names the holder. It tries at least once. It does not wait for an operation of another flow that is
	// unfinished, which may take as long as a person does, and names it at once. release may be called twice.
	Acquire(ctx context.Context, h Holder) (release func(), err error)
	// Holder says who has the node now, without waiting and without getting in anybody's way; a program comes before an
	// operation. What a dead process, or one of an earlier boot, has left behind is no holder.
	Holder(ctx context.Context) (h Holder, held bool, err error)
}

// Unfinished asks each of the flows but the named one, and returns the first operation found.
func Unfinished(ctx context.Context, flows []Standing, except string) (h Holder, found bool, err error) {
	for _, s := range flows {
		if s.Flow == except {
			continue
		}
		if h, found, err = s.Unfinished(ctx); err != nil {
			return Holder{}, false, fmt.Errorf("look for an unfinished operation of %s: %w", s.Flow, err)
		}
		if found {
			return h, true, nil
		}
	}
	return Holder{}, false, nil
}
