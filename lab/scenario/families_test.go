//go:build lab

package scenario

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/lab/drive"
	"github.com/lifecycle-agent/lifecycle-agent/lab/network"
)

// TestIPv6Only moves a node that has no IPv4, to a gateway with a link-local address.
func TestIPv6Only(t *testing.T) {
	tool(t, "systemd-nspawn")
	ctx, l, d := nodeAt(t, "scenario-ipv6", ipv6Site(), home6, away6)
	spec := ipv6Away()
	spec["gateway"] = linkLocalOfTheLAN(ctx, t, l)
	change(ctx, t, d, object{"ipv6": spec, "dnsServers": []string{network.Away().DNS6.Addr().String()}})
	nodeIsAt(ctx, t, l, []netip.Addr{away6}, []netip.Addr{home6})
	require.Contains(t, in(ctx, t, l, "ip", "-6", "route", "show", "default"), "via "+spec["gateway"].(string)+" dev br-ex")
	keep(ctx, t, d)
}

// TestDualStackIPv4First moves both families of a node at once, then each of them alone; the primary family stays the first.
func TestDualStackIPv4First(t *testing.T) { dualStack(t, "scenario-dual4", dualSite(), home, home6) }

// TestDualStackIPv6First is the same for a node whose primary family is IPv6.
func TestDualStackIPv6First(t *testing.T) {
	long(t)
	dualStack(t, "scenario-dual6", dualSite6(), home6, home)
}

func dualStack(t *testing.T, name string, site *cluster.Site, first, second netip.Addr) {
	tool(t, "systemd-nspawn")
	ctx, l, d := nodeAt(t, name, site, home, home6, away, away6)
	other := map[netip.Addr]netip.Addr{home: away, home6: away6}
	servers := []string{network.Away().DNS6.Addr().String(), network.Away().DNS.Addr().String()}
	change(ctx, t, d, object{"ipv4": ipv4Away(), "ipv6": ipv6Away(), "dnsServers": servers, "dnsFilterOutFamily": "ipv6"})
	nodeIsAt(ctx, t, l, []netip.Addr{other[first], other[second]}, []netip.Addr{first, second})

	ipc, err := d.Get(ctx)
	require.NoError(t, err)
	require.Equal(t, servers, ipc.Status.DNSServers, "the order is the administrator's")
	require.Equal(t, servers, upstream(ctx, t, l)[:2], "and the node's")
	require.Equal(t, []string{"192.0.2.1"}, answers(ctx, t, l), "dnsmasq leaves IPv6 out of its answers")
	keep(ctx, t, d)

	t.Run("one family alone", func(t *testing.T) {
		back := network.Home()
		change(ctx, t, d, object{
			"ipv4":               object{"address": home.String(), "machineNetwork": homeNetwork, "gateway": back.Gateway.Addr().String()},
			"ipv6":               nil,
			"dnsServers":         []string{back.DNS.Addr().String(), servers[0]},
			"dnsFilterOutFamily": "none",
		})
		now := map[netip.Addr]netip.Addr{home: home, home6: away6}
		nodeIsAt(ctx, t, l, []netip.Addr{now[first], now[second]}, []netip.Addr{away, home6})
		require.ElementsMatch(t, []string{"192.0.2.1", "2001:db8:1::1"}, answers(ctx, t, l), "nothing is left out any more")
	})
}

// change asks for stage Config with these fields and waits until it is completed.
func change(ctx context.Context, t *testing.T, d *drive.Driver, fields object) {
	t.Helper()
	fields["stage"] = lcav1.StageConfig
	require.NoError(t, d.Patch(ctx, object{"spec": fields}))
	_, err := d.Until(ctx, "a completed change", drive.Is(lcav1.ConditionConfigCompleted))
	require.NoError(t, err)
}

// keep makes the change final.
func keep(ctx context.Context, t *testing.T, d *drive.Driver) {
	t.Helper()
	require.NoError(t, d.Stage(ctx, lcav1.StageIdle))
	_, err := d.Until(ctx, "Idle again", drive.Is(lcav1.ConditionIdle))
	require.NoError(t, err)
}

// answers are the addresses that the node's own dnsmasq gives for a name of the LAN that has one of each family.
func answers(ctx context.Context, t *testing.T, l *lab.Lab) []string {
	t.Helper()
	var out []string
	for line := range strings.Lines(in(ctx, t, l, "getent", "ahosts", "gateway.lab.example")) {
		if f := strings.Fields(line); len(f) > 1 && f[1] == "STREAM" {
			out = append(out, f[0])
		}
	}
	return out
}

// linkLocalOfTheLAN is the address that the LAN's router has on its own link.
func linkLocalOfTheLAN(ctx context.Context, t *testing.T, l *lab.Lab) string {
	t.Helper()
	found, err := l.Net.LinkLocal(ctx)
	require.NoError(t, err)
	return found.String()
}
