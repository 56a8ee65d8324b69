package portal

import (
	"context"
	"errors"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/sitecode"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// Site is the node's side of the page: the flow on site. Its methods are called from many goroutines.
type Site interface {
	// Submit holds a configuration, which siteconfig.Decode has found right, against this node and changes nothing.
	// It answers with a plan, or with problems. An error says that the node cannot judge now.
	Submit(ctx context.Context, c siteconfig.SiteConfig) (Plan, []siteconfig.Problem, error)
	// Start begins the change with the configuration of the plan. It returns when the change is handed over to the
	// node; ErrUnderWay where one is under way. Starting again after a failure is allowed.
	Start(ctx context.Context, planID string) error
	// Progress is where the change stands; it does not wait.
	Progress(ctx context.Context) (Progress, error)
	// Handover yields the hand-over file once, and wipes it. Then it is ErrHandedOver; before success, ErrNotReady.
	Handover(ctx context.Context) (Handover, error)
}

// What a Site refuses.
var (
	ErrUnderWay   = errors.New("a change is under way")
	ErrHandedOver = errors.New("the credentials were handed over already")
	ErrNotReady   = errors.New("the credentials are not ready")
)

// Plan is what would happen, for the technician to agree to.
type Plan struct {
	// ID names the configuration that was judged.
	ID string
	// Sentences say what changes, in plain words, in the order in which it happens.
	Sentences []string
	// Warnings do not hinder the change.
	Warnings []string
	// Expected is how long it takes.
	Expected time.Duration
	// Address is where the page is reached after the change, if it is elsewhere; may be empty.
	Address string
}

// State is where a change stands.
type State string

// The states.
const (
	Waiting   State = "Waiting"   // no configuration was started
	Running   State = "Running"   // a change is under way
	Succeeded State = "Succeeded" // healthy under the new identity
	Failed    State = "Failed"    // it can be tried again
)

// Progress is where a change stands, for a person.
type Progress struct {
	State State
	// Step of Steps is under way, from 1; 0 of 0 before the first.
	Step, Steps int
	// Title says what the step does, in plain words.
	Title   string
	Started time.Time
	// Code and Message say what failed, in plain words; set in state Failed.
	Code    sitecode.Code
	Message string
	// Returned: the node went back to its factory state.
	Returned bool
	// Facts are shown with the result: console address, API address, addresses of the node.
	Facts []Fact
	// Committed says that the change is final: the page is about to close.
	Committed bool
}

// Fact is a line of the result.
type Fact struct{ Name, Value string }

// Handover is the file for the integrator.
type Handover struct {
	Name string
	Data []byte
}
