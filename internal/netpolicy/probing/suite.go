package probing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

const (
	// selectTimeout bounds the selection before a change. What does not answer by then was not in use.
	selectTimeout = 3 * time.Second
	// DefaultTimeout is how long all probes together may take to pass after a change: spanning tree, neighbour discovery
	// and DHCP need their time.
	DefaultTimeout = 2 * time.Minute
	pause          = 500 * time.Millisecond
)

// Suite runs probes.
type Suite struct {
	Prober  host.Prober
	Network Observer
	Clock   flow.Clock
	// Timeout bounds Prove; 0 takes DefaultTimeout.
	Timeout time.Duration
}

// FailedError names the probe that a changed network did not pass.
type FailedError struct {
	Probe Probe
	Cause error
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("the new network does not pass %s: %v", e.Probe, e.Cause)
}

func (e *FailedError) Unwrap() error { return e.Cause }

// Skipped is a probe that is not required, with the reason.
type Skipped struct {
	Probe  string `json:"probe"`
	Reason string `json:"reason"`
}

// Select runs all candidates at the same time, for three seconds at most, and returns those that a changed network has to
// pass: the custom ones, those whose gateways the document names, and those that pass now.
func (s Suite) Select(ctx context.Context, candidates []Probe) (required []Probe, skipped []Skipped, err error) {
	now, err := s.Network.Observe(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("observe the network before its change: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, selectTimeout)
	defer cancel()
	answers := s.probeAll(ctx, candidates, now)
	for i, p := range candidates {
		if p.Kind == KindCustom || len(p.Gateways) > 0 || answers[i] == nil {
			required = append(required, p)
			continue
		}
		skipped = append(skipped, Skipped{p.String(), "it does not pass before the change either: " + answers[i].Error()})
	}
	return required, skipped, nil
}

// Prove runs the probes at the same time and repeats each until it passes or its time is over. The error is a
// *FailedError.
func (s Suite) Prove(ctx context.Context, open []Probe) error {
	for start := s.Clock.Now(); len(open) > 0; {
		now, err := s.Network.Observe(ctx)
		if err != nil {
			return fmt.Errorf("observe the new network: %w", err)
		}
		answers := s.probeAll(ctx, open, now)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("probe the new network: %w", err)
		}
		spent, again := s.Clock.Now().Sub(start), []Probe(nil)
		for i, p := range open {
			if answers[i] != nil && spent >= s.timeoutOf(p) {
				return &FailedError{Probe: p, Cause: answers[i]}
			}
			if answers[i] != nil {
				again = append(again, p)
			}
		}
		if open = again; len(open) == 0 {
			return nil
		}
		if err := s.Clock.Sleep(ctx, pause); err != nil {
			return fmt.Errorf("probe the new network: %w", err)
		}
	}
	return nil
}

func (s Suite) timeoutOf(p Probe) time.Duration {
	all := cmp.Or(s.Timeout, DefaultTimeout)
	if own := time.Duration(p.TimeoutSeconds) * time.Second; own > 0 {
		return min(own, all)
	}
	return all
}

func (s Suite) probeAll(ctx context.Context, probes []Probe, now netstate.Document) []error {
	answers := make([]error, len(probes))
	var wg sync.WaitGroup
	for i, p := range probes {
		wg.Go(func() { answers[i] = s.probeOnce(ctx, p, now) })
	}
	wg.Wait()
	return answers
}

// Failed finds the failed probe in an error.
func Failed(err error) (*FailedError, bool) {
	var failed *FailedError
	ok := errors.As(err, &failed)
	return failed, ok
}
