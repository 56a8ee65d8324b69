package host

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// LockFile is the node's lock. It is in /run, so a reboot releases it.
const LockFile = "/run/lca/operation.lock"

// Holder identifies what holds the node: a process, or an unfinished operation between two of its processes.
type Holder struct {
	// Operation names the work, Program the process that does it. Both are empty for a holder that
	// has not written its name yet.
	Operation string `json:"operation,omitempty"`
	Program   string `json:"program,omitempty"`
	// Phase is the progress of an unfinished operation that no process works on; empty for a process.
	Phase string `json:"phase,omitempty"`
	// EndedBy is what a person runs to end it; empty where it is not known. The lock sets it.
	EndedBy string `json:"-"`
	// The lock sets the fields below.
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
		return fmt.Sprintf("%s (unfinished: %s%s)", h.Operation, h.Phase, h.formatSince())
	case h.Program == "":
		return "an unidentified program"
	}
	return fmt.Sprintf("%s (%s, pid %d%s)", h.Operation, h.Program, h.PID, h.formatSince())
}

// formatSince is empty where the beginning is not on record.
func (h Holder) formatSince() string {
	if h.Since.IsZero() {
		return ""
	}
	return ", since " + h.Since.UTC().Format(time.RFC3339)
}

// BusyError reports that another operation holds the node.
type BusyError struct{ Holder Holder }

func (e *BusyError) Error() string {
	text := "another operation holds this node: " + e.Holder.String()
	if e.Holder.EndedBy != "" {
		text += "; " + e.Holder.EndedBy + " ends it"
	}
	return text
}

// Reservation is a flow whose operations hold the node from start to end, across reboots, and not only while one of their
// processes runs.
type Reservation struct {
	// Flow is the first word of Holder.Operation.
	Flow string
	// EndedBy is what a person runs to end an operation of the flow, in quotes; empty where that depends.
	EndedBy string
	// Yield ends the operation under way, for a flow that gives way to every other one; nil for one that does not. Such an
	// operation does not hold the node.
	Yield func(ctx context.Context) error
	// Unfinished returns the operation under way, with its Phase. An operation that has ended, or whose stateroot is
	// missing, does not count: nothing would ever release the node.
	Unfinished func(ctx context.Context) (h Holder, found bool, err error)
}

// NodeLock lets one disruptive flow run on the node at a time. The lock is released when its process exits, however it
// exits. An unfinished operation also holds the node, against every flow but its own, until its journal ends.
type NodeLock interface {
	// Acquire locks the node for the program of h and waits for other programs until ctx ends; then the error is a
	// *BusyError with the holder. It tries at least once. An unfinished operation of another flow may wait for a
	// person, so Acquire fails at once with a *BusyError. One whose flow yields is ended. release may be called twice.
	Acquire(ctx context.Context, h Holder) (release func(), err error)
	// Holder returns the current holder without waiting and without delaying an Acquire; a program takes precedence over
	// an operation. The record of a process that has exited, or of an earlier boot, is ignored, and so is a program whose flow
	// yields: Acquire would end it.
	Holder(ctx context.Context) (h Holder, held bool, err error)
}

// Unfinished asks each of the flows but the named one, and returns the first operation found.
func Unfinished(ctx context.Context, flows []Reservation, except string) (h Holder, found bool, err error) {
	for _, s := range flows {
		if s.Flow == except || s.Yield != nil {
			continue
		}
		if h, found, err = s.Unfinished(ctx); err != nil {
			return Holder{}, false, fmt.Errorf("look for an unfinished operation of %s: %w", s.Flow, err)
		}
		if found {
			h.EndedBy = s.EndedBy
			return h, true, nil
		}
	}
	return Holder{}, false, nil
}

// Displace ends the operation of the holder if its flow yields, and is not that of the caller, and says whether it did.
func Displace(ctx context.Context, flows []Reservation, holder Holder, caller string) (bool, error) {
	for _, s := range flows {
		if s.Yield == nil || s.Flow != holder.Flow() || s.Flow == caller {
			continue
		}
		if err := s.Yield(ctx); err != nil {
			return false, fmt.Errorf("end %s, which gives way: %w", holder, err)
		}
		return true, nil
	}
	return false, nil
}

// Yields says that an Acquire would end the holder.
func Yields(flows []Reservation, holder Holder) bool {
	return slices.ContainsFunc(flows, func(s Reservation) bool { return s.Yield != nil && s.Flow == holder.Flow() })
}
