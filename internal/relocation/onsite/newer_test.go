package onsite_test

import (
	"context"
	"net/netip"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/intake"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/onsite"
)

// calling has a person act when a gateway was asked for the n-th time.
type calling struct {
	host.Prober
	left int
	act  func()
}

func (c *calling) Gateway(ctx context.Context, at netip.Addr, iface string) error {
	if c.left--; c.left == 0 {
		c.act()
	}
	return c.Prober.Gateway(ctx, at, iface)
}

func plug(v *hosttest.Volumes, device, network string) {
	v.Plug(host.Volume{Device: device, Disk: device, Label: "SITE-CONFIG", Filesystem: "vfat"},
		fstest.MapFS{"site-config.yaml": {Data: []byte(siteFor(network))}})
}

// A configuration whose gateway is silent is tried again by itself, and while it is, the page or another stick may bring a newer one.
func TestANewerConfigurationTakesThePlaceOfASilentOne(t *testing.T) {
	const wanted = "203.0.113"
	for name, act := range map[string]func(*world, *hosttest.Volumes){
		"the page": func(w *world, _ *hosttest.Volumes) {
			require.NoError(w.t, w.node.Seed(relocation.TypedFile, []byte(siteFor(wanted))))
		},
		"another stick": func(_ *world, v *hosttest.Volumes) { plug(v, "/dev/sdb1", wanted) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, false)
			require.NoError(t, w.prepare())
			w.node.Silence(netip.MustParseAddr("198.51.100.1"))
			v := &hosttest.Volumes{}
			plug(v, "/dev/sda1", "198.51.100")
			asked := &calling{left: 12, act: func() { act(w, v) }}
			w.node.Command("lca-cli relocation reconfigure", func(ctx context.Context, _ []string) error {
				s := w.service()
				asked.Prober = s.Prober
				s.Prober, s.Inbox = asked, intake.NewInbox(w.node.Files(), v)
				return s.Run(ctx)
			})
			require.NoError(t, w.switchOn())
			w.stick = siteFor(wanted)
			verdict, err := w.Judge()
			require.NoError(t, err)
			require.Equal(t, "home", verdict, "failures: %v", w.node.Failures())
			require.LessOrEqual(t, asked.left, 0)
		})
	}
}

// Attempts with other configurations do not make a node forget what was tried.
func TestWhatWasTriedIsRemembered(t *testing.T) {
	last := relocation.Last{Digest: "a", Outcome: relocation.OutcomeReturned, Attempts: 1}
	last = last.Next(relocation.Last{Digest: "b", Outcome: relocation.OutcomeRetry})
	last = last.Next(relocation.Last{Digest: "c", Outcome: relocation.OutcomeRetry})
	last = last.Next(relocation.Last{Digest: "b", Outcome: relocation.OutcomeRetry})
	require.Equal(t, []string{"b", "c"}, last.Silent(), "in the order in which they came")
	require.Equal(t, relocation.OutcomeReturned, last.OutcomeOf("a"))
	require.Empty(t, last.OutcomeOf("d"))
	for n := range 100 {
		last = last.Next(relocation.Last{Digest: string(rune('A' + n)), Outcome: relocation.OutcomeRefused})
	}
	require.Less(t, len(last.Earlier), 40)
}

var _ onsite.Inbox = (*intake.Inbox)(nil)
