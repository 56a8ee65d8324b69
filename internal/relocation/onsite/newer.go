package onsite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// errNewer ends the proof of a network that was silent before: the page has delivered another configuration meanwhile.
var errNewer = errors.New("another configuration came by the page")

// newerTyped says whether the page has delivered a configuration while the node repeats another attempt by itself. In any other
// attempt what the page has delivered is the attempt's own.
func newerTyped(files host.Files, r relocation.Request) bool {
	_, err := files.Stat(relocation.TypedFile)
	return err == nil && r.Repeats
}

// firstProof is that of a network which is not committed yet. It ends when a newer configuration is there.
func (p *Reconfiguration) firstProof() bringup.Proof {
	proof := p.networkProof()
	newer := func() bool { return newerTyped(p.Files, p.Request) }
	proof.Clock = leavingClock{proof.Clock, newer}
	proof.Site = func() (bringup.Site, error) {
		if newer() {
			return bringup.Site{}, errNewer
		}
		if c, err := p.readConfig(); err != nil || c.Network == nil {
			return bringup.Site{}, err // nothing is applied; the site's connections were proved when they came up
		}
		return p.proofSite()
	}
	return proof
}

// leavingClock ends a wait when there is a reason.
type leavingClock struct {
	flow.Clock

	leave func() bool
}

// Sleep implements flow.Clock.
func (c leavingClock) Sleep(ctx context.Context, d time.Duration) error {
	if c.leave() {
		return errNewer
	}
	return c.Clock.Sleep(ctx, d) // it is the clock's
}

// Text is a configuration as a delivery has it. One that was read and written is the same whenever it is read and written again.
func Text(c siteconfig.SiteConfig) ([]byte, error) {
	data, err := yaml.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode the site configuration: %w", err)
	}
	return data, nil
}
