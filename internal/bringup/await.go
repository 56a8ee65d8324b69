package bringup

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
)

// Time limits of the steps.
const (
	// apiTimeout is how long the API may take to answer before the step fails.
	apiTimeout = 15 * time.Minute
	// nodeTimeout is how long kubelet may take to report the node Ready, once the API answers.
	nodeTimeout = 15 * time.Minute
	// proofTimeout is how long a new network may take until gateway and DNS answer.
	proofTimeout = 90 * time.Second
	// tryTimeout bounds a single question to the API server or the network.
	tryTimeout = 10 * time.Second
)

// wait is how long to try, and the pause between two tries.
type wait struct{ limit, pause time.Duration }

// pollUntil repeats ask until it succeeds, the limit passes or the context ends; it then returns the last error. No single
// try outlasts tryTimeout.
func pollUntil(ctx context.Context, clock flow.Clock, w wait, ask func(context.Context) error) error {
	deadline := clock.Now().Add(w.limit)
	for {
		err := callWithTimeout(ctx, ask)
		if err == nil {
			return nil
		}
		reportMissing(ctx, err)
		if clock.Sleep(ctx, w.pause) != nil || clock.Now().After(deadline) {
			return err
		}
	}
}

// askAll asks all questions at once and joins the errors.
func askAll(questions []func() error) error {
	answers := make([]error, len(questions))
	var all sync.WaitGroup
	for i, ask := range questions {
		all.Go(func() { answers[i] = ask() })
	}
	all.Wait()
	return errors.Join(answers...)
}
