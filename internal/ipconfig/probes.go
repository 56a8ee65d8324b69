package ipconfig

import (
	"context"
	"errors"
	"fmt"
	"time"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Probe is a question of the user's, as the request carries it.
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

// usualProbeTimeout is how long a probe has whose timeout is left out.
const usualProbeTimeout = 30

func probesOf(spec lcav1.IPConfigSpec) (out []Probe) {
	for _, p := range spec.Probes {
		probe := Probe{Name: p.Name, Type: string(p.Type), Target: p.Target, TimeoutSeconds: int(p.TimeoutSeconds)}
		if probe.TimeoutSeconds == 0 {
			probe.TimeoutSeconds = usualProbeTimeout
		}
		if p.HTTP != nil {
			probe.CABundle, probe.SkipVerify = p.HTTP.CABundle, p.HTTP.InsecureSkipVerify
			for _, code := range p.HTTP.StatusCodes {
				probe.StatusCodes = append(probe.StatusCodes, int(code))
			}
		}
		out = append(out, probe)
	}
	return out
}

func (p Probe) timeout() time.Duration { return time.Duration(p.TimeoutSeconds) * time.Second }

func (p Probe) endpoint() host.Endpoint {
	return host.Endpoint{
		Kind: p.Type, Target: p.Target, StatusCodes: p.StatusCodes, CABundle: []byte(p.CABundle), SkipVerify: p.SkipVerify,
	}
}

// runProbes asks the user's questions of the network that now carries the cluster. All are asked at once, those
// without a good answer again and again, each for as long as its own time lasts. Every one that fails is named.
func (p *PostPivot) runProbes(ctx context.Context) error {
	start, open := p.Node.Clock.Now(), p.Request.Probes
	var failed []error
	for len(open) > 0 {
		answers := p.askProbes(ctx, open)
		if err := ctx.Err(); err != nil {
			return err
		}
		var again []Probe
		for i, probe := range open {
			switch spent := p.Node.Clock.Now().Sub(start); {
			case answers[i] == nil:
			case spent >= probe.timeout():
				failed = append(failed, fmt.Errorf("probe %q got no good answer within %s: %w", probe.Name, probe.timeout(), answers[i]))
			default:
				again = append(again, probe)
			}
		}
		if open = again; len(open) > 0 {
			if err := p.Node.Clock.Sleep(ctx, time.Second); err != nil {
				return err
			}
		}
	}
	return errors.Join(failed...)
}

// askProbes asks each probe once.
func (p *PostPivot) askProbes(ctx context.Context, probes []Probe) []error {
	answers := make([]error, len(probes))
	var questions []func() error
	for i, probe := range probes {
		questions = append(questions, func() error {
			once, cancel := context.WithTimeout(ctx, min(tryTimeout, probe.timeout()))
			defer cancel()
			answers[i] = p.Node.Prober.Reach(once, probe.endpoint())
			return nil
		})
	}
	_ = askAll(questions) // the answers are told apart
	return answers
}
