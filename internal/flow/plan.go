package flow

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Step is one thing a plan does.
type Step struct {
	// Name is stored in journals: renaming one strands operations in flight.
	Name string
	// Title is what a person reads while it runs.
	Title string
	// Check reports whether the effect is already in place; Do is then skipped. nil trusts the journal: a step it records
	// as done is done.
	Check func(ctx context.Context) (bool, error)
	// Again makes a step that is cheap, or proves something, run in every run; Check is then nil.
	Again bool
	// Do brings the effect about. It is idempotent, also after an interruption, and its effect is on disk when it
	// returns.
	Do func(ctx context.Context) error
	// Undo removes the effect, however little of it there is. nil: there is nothing to undo; a comment in the plan says
	// why.
	Undo func(ctx context.Context) error
	// Tries is how often Do is tried in one run before the step has failed; 0
	// means once. Pause lies between two tries.
	Tries int
	Pause time.Duration
}

// FromStart, as a plan's Commit, means that the plan is never rolled back: the next run continues a failed one.
const FromStart = "(from the start)"

// ErrLeaving is returned by a step that has requested the end of its own process, by a reboot: nothing more is recorded,
// and a later run of the same journal repeats the step.
var ErrLeaving = errors.New("leaving: the node is going down")

// Permanent marks an error of a step's Do that a retry in the same run would not mend.
func Permanent(err error) error { return &permanentError{err} }

type permanentError struct{ error }

func (e *permanentError) Unwrap() error { return e.error }

// Plan is a flow: a list of steps.
type Plan struct {
	// Name is stored in journals, like a step's.
	Name  string
	Steps []Step
	// Commit names the step whose success is the point of no return. Empty: the
	// plan is rolled back on failure however far it came.
	Commit string
	// MaxAttempts ends loops: a plan begun more often is rolled back, or given up
	// when it is past its commit point. 0 means no limit.
	MaxAttempts int
	// AcrossBoots: the plan continues after a reboot. A plan without it that is found unfinished and uncommitted after a
	// reboot is rolled back.
	AcrossBoots bool
	// Urgent: the plan runs even where its journal cannot be written: a full disk must not keep a node from rolling back.
	// Entries that cannot be written are logged.
	Urgent bool
}

// Validate finds mistakes in the plan.
func (p Plan) Validate() error {
	if p.Name == "" || len(p.Steps) == 0 {
		return errors.New("a plan needs a name and steps")
	}
	seen := map[string]bool{}
	for _, s := range p.Steps {
		if s.Name == "" || s.Do == nil {
			return fmt.Errorf("plan %s: step %q needs a name and something to do", p.Name, s.Name)
		}
		if seen[s.Name] {
			return fmt.Errorf("plan %s: two steps are called %s", p.Name, s.Name)
		}
		seen[s.Name] = true
	}
	if p.Commit != "" && p.Commit != FromStart && !seen[p.Commit] {
		return fmt.Errorf("plan %s: its commit point %s is not one of its steps", p.Name, p.Commit)
	}
	return nil
}

// stepIndex is the step's position from 1, or 0 for a name the plan does not have.
func (p Plan) stepIndex(step string) int {
	for i, s := range p.Steps {
		if s.Name == step {
			return i + 1
		}
	}
	return 0
}
