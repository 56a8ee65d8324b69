//go:build lab

package scenario

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/lab/network"
	"github.com/lifecycle-agent/lifecycle-agent/lab/stick"
)

// wrongVLAN is where the site's network is while the node's switch port is another's.
const wrongVLAN = 100

// TestRelocationOnAWrongSwitchPort connects a node to a port of the switch that is not in the site's VLAN: the node tries, says that
// the router does not answer, and stays as it was shipped. Moved to the right port it gets home, with the stick that is still there.
func TestRelocationOnAWrongSwitchPort(t *testing.T) {
	r := shipped(t, "scenario-relocation-port")
	ctx, l := r.ctx, r.lab
	tagged := tag(ctx, t, l, wrongVLAN, network.Away())
	r.insert(ctx, siteConfig(network.Away().Gateway.Addr().String()))
	r.reports(ctx, "a refusal for the silent router", func(s relocationStatus) bool { return s.Code == "L23" })
	r.triesAgain(ctx)
	require.NotEqual(t, "store-17", in(ctx, t, l, "hostname"), "nothing has changed")
	require.False(t, says(ctx, l, "systemctl is-active --quiet kubelet"), "the cluster is still held")
	require.True(t, r.waits(ctx))

	require.NoError(t, l.Net.LinkDown(ctx))
	require.NoError(t, tagged.Close(ctx))
	require.NoError(t, l.Net.LinkUp(ctx))
	r.atHome(ctx)
}

// TestRelocationWithTwoSticksAndAPulledOne brings a stick with mistakes and a second one beside it, which is refused until the first
// is pulled. The second has a router that does not answer: a third one beside it is newer, and may be pulled when it was read.
func TestRelocationWithTwoSticksAndAPulledOne(t *testing.T) {
	long(t)
	r := shipped(t, "scenario-relocation-sticks")
	ctx, gateway := r.ctx, network.Away().Gateway.Addr().String()
	mistaken := r.plugs(ctx, siteConfig(gateway)+"nonsense: 1\n")
	r.reports(ctx, "a refusal for the mistake", func(s relocationStatus) bool { return s.Code == "C12" })
	r.plugs(ctx, siteConfig("198.51.100.254"))
	r.reports(ctx, "a refusal for two sticks", func(s relocationStatus) bool { return s.Code == "C13" })
	require.NoError(t, mistaken.Pull(ctx))
	r.reports(ctx, "a refusal for the silent router", func(s relocationStatus) bool { return s.Code == "L23" })
	r.triesAgain(ctx)

	right := r.plugs(ctx, siteConfig(gateway))
	until(ctx, t, "the site's name", func() bool { return says(ctx, r.lab, `test "$(hostname)" = store-17`) })
	require.NoError(t, right.Pull(ctx))
	r.atHome(ctx)
}

// shipped is a node that waits for its site.
func shipped(t *testing.T, name string) *relocated {
	t.Helper()
	ctx, l := nodeWithSticks(t, name)
	r := &relocated{t: t, lab: l, ctx: ctx}
	r.ship(ctx)
	return r
}

// triesAgain waits until the node has begun another attempt by itself.
func (r *relocated) triesAgain(ctx context.Context) {
	r.t.Helper()
	until(ctx, r.t, "another attempt of the same configuration", func() bool {
		return says(ctx, r.lab, `grep -Eq '"attempts": ?([2-9]|[1-9][0-9]+)' /var/lib/lca/relocation/last.json`)
	})
}

// plugs plugs a stick in beside those that are there.
func (r *relocated) plugs(ctx context.Context, text string) *stick.Stick {
	r.t.Helper()
	s, err := stick.Make(ctx, r.t.TempDir(), "site-config", "site-config.yaml", []byte(text))
	require.NoError(r.t, err)
	r.t.Cleanup(func() { require.NoError(r.t, s.Pull(context.Background())) })
	require.NoError(r.t, s.Plug(ctx, r.lab.Machine))
	return s
}
