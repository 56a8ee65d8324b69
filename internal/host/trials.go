package host

import (
	"context"
	"fmt"
	"time"
)

// NetworkTrial is a checkpoint of the network that another program holds: the program may still go back to it.
type NetworkTrial struct {
	// ID names it for EndTrial.
	ID string `json:"checkpoint"`
	// Program made it; empty where that is unknown.
	Program string    `json:"program,omitempty"`
	Began   time.Time `json:"began"`
	// Ends is when the former network comes back by itself; zero is never.
	Ends time.Time `json:"ends,omitzero"`
}

// String describes it in one sentence without an end.
func (t NetworkTrial) String() string {
	program, until := "another program", "without an end"
	if t.Program != "" {
		program = t.Program
	}
	if !t.Ends.IsZero() {
		until = "until " + t.Ends.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("%s has the network on trial since %s, %s (checkpoint %s)", program, t.Began.UTC().Format(time.RFC3339), until, t.ID)
}

// NetworkTrials are the changes of the network that other programs have on trial. While there is one, Apply waits for its end.
type NetworkTrials interface {
	// Trials lists them, without those of this product.
	Trials(ctx context.Context) ([]NetworkTrial, error)
	// EndTrial settles the one with that ID: keep leaves the network that runs, otherwise the former one comes back. One that is
	// not there, or is of this product, is an error, and nothing changes.
	EndTrial(ctx context.Context, id string, keep bool) error
}
