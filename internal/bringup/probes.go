package bringup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Probe is a question of the user's, as requests carry it.
type Probe struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Target string `json:"target"`
	// TimeoutSeconds is how long a good answer may take, all tries together.
	TimeoutSeconds int    `json:"timeout-seconds"`
	StatusCodes    []int  `json:"status-codes,omitempty"`
	CABundle       string `json:"ca-bundle,omitempty"`
	SkipVerify     bool   `json:"insecure-skip-verify,omitempty"`
}

func (p Probe) String() string {
	return fmt.Sprintf("%s: %s %s within %s", p.Name, p.Type, p.Target, p.timeLimit())
}

func (p Probe) timeLimit() time.Duration { return time.Duration(p.TimeoutSeconds) * time.Second }

func (p Probe) hostEndpoint() host.Endpoint {
	return host.Endpoint{
		Kind: p.Type, Target: p.Target, StatusCodes: p.StatusCodes, CABundle: []byte(p.CABundle), SkipVerify: p.SkipVerify,
	}
}

// RunProbes puts the user's questions to the network that now carries the cluster. All run at the same time, each is
// retried until its own timeout, and the error names every probe that failed.
func RunProbes(prober host.Prober, clock flow.Clock, probes []Probe) flow.Step {
	r := probeRun{prober, clock}
	return flow.Step{
		Name: StepRunProbes, Title: "Run the user's probes", Again: true,
		Do: func(ctx context.Context) error { return r.runAll(ctx, probes) },
	}
}

type probeRun struct {
	prober host.Prober
	clock  flow.Clock
}

func (r probeRun) runAll(ctx context.Context, open []Probe) error {
	start := r.clock.Now()
	var failed []error
	for len(open) > 0 {
		answers := r.runOnce(ctx, open)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("run the probes: %w", err)
		}
		reportMissing(ctx, nameFailures(open, answers))
		var again []Probe
		for i, probe := range open {
			switch spent := r.clock.Now().Sub(start); {
			case answers[i] == nil:
			case spent >= probe.timeLimit():
				failed = append(failed, fmt.Errorf("probe %q got no good answer within %s: %w", probe.Name, probe.timeLimit(), answers[i]))
			default:
				again = append(again, probe)
			}
		}
		if open = again; len(open) > 0 {
			if err := r.clock.Sleep(ctx, time.Second); err != nil {
				return fmt.Errorf("run the probes: %w", err)
			}
		}
	}
	return errors.Join(failed...)
}

// nameFailures are the answers that are not good, each with the name of its probe.
func nameFailures(probes []Probe, answers []error) error {
	var failures []error
	for i, probe := range probes {
		if answers[i] != nil {
			failures = append(failures, fmt.Errorf("probe %q: %w", probe.Name, answers[i]))
		}
	}
	return errors.Join(failures...)
}

// runOnce runs each probe one time.
func (r probeRun) runOnce(ctx context.Context, probes []Probe) []error {
	answers := make([]error, len(probes))
	var questions []func() error
	for i, probe := range probes {
		questions = append(questions, func() error {
			once, cancel := context.WithTimeout(ctx, min(tryTimeout, probe.timeLimit()))
			defer cancel()
			answers[i] = r.prober.Reach(once, probe.hostEndpoint())
			return nil
		})
	}
	_ = askAll(questions) // answers has each error
	return answers
}
