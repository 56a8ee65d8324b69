package recert

import (
	"context"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
)

// Life is how long a certificate lasts, and what a run makes of it.
type Life struct {
	Subject  string
	NotAfter time.Time
	Places   []string
	// Renewed: a run signs it again, or kubelet requests a new one by itself.
	Renewed bool
}

// byKubelet begins the note on a certificate that kubelet requests by itself.
const byKubelet = "the kubelet requests a new one"

// Lives lists the certificates of the cluster, with the plan that it learns from what becomes of each. Authorities without
// their key are left out: they stand in bundles of trust, and nothing of the cluster is proved with them.
func (e *Engine) Lives(ctx context.Context, cfg config.Config) ([]Life, *Plan, error) {
	inventory, err := e.Scan(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	plan, err := e.Plan(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	renewed := plan.renewalMatcher()
	var out []Life
	for _, f := range inventory.Certificates {
		if f.Authority && !f.HasKey {
			continue
		}
		l := Life{Subject: f.Subject, NotAfter: f.NotAfter, Places: f.Places}
		for _, at := range f.Places {
			l.Renewed = l.Renewed || renewed(f.Subject, at)
		}
		out = append(out, l)
	}
	return out, plan, nil
}

// renewalMatcher says of a subject at a place whether its certificate is signed again.
func (p *Plan) renewalMatcher() func(subject, place string) bool {
	signed, requested := map[[2]string]bool{}, map[string]bool{}
	for _, r := range p.Certificates {
		for _, at := range r.Places {
			signed[[2]string{r.Subject, at}] = true
		}
	}
	for _, kept := range p.Kept {
		if strings.HasPrefix(kept.Why, byKubelet) {
			requested[kept.Where] = true
		}
	}
	return func(subject, place string) bool { return signed[[2]string{subject, place}] || requested[place] }
}
