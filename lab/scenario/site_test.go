//go:build lab

package scenario

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/lab/drive"
	"github.com/lifecycle-agent/lifecycle-agent/lab/network"
)

var (
	home6 = netip.MustParseAddr("2001:db8:1::10")
	away6 = netip.MustParseAddr("2001:db8:2::20")
)

const awayNetwork6 = "2001:db8:2::/64"

// ipv6Site is a node without IPv4.
func ipv6Site() *cluster.Site {
	site, home := lab.HomeSite(), network.Home()
	site.Addresses = []netip.Prefix{netip.PrefixFrom(home6, 64)}
	site.Gateways, site.DNS = []netip.Addr{home.Gateway6.Addr()}, []netip.Addr{home.DNS6.Addr()}
	return &site
}

// dualSite is a node with both families.
func dualSite() *cluster.Site {
	site := lab.DualStackSite()
	return &site
}

// dualSite6 is dualSite with IPv6 as its primary family.
func dualSite6() *cluster.Site {
	site := lab.DualStackSite()
	slices.Reverse(site.Addresses)
	slices.Reverse(site.Gateways)
	slices.Reverse(site.DNS)
	return &site
}

// ipv4Home asks for the address that the node is delivered with.
func ipv4Home() object {
	return object{"address": home.String(), "machineNetwork": homeNetwork, "gateway": network.Home().Gateway.Addr().String()}
}

// ipv4Away and ipv6Away ask for the second site's address of one family.
func ipv4Away() object {
	return object{"address": away.String(), "machineNetwork": awayNetwork, "gateway": network.Away().Gateway.Addr().String()}
}

func ipv6Away() object {
	return object{"address": away6.String(), "machineNetwork": awayNetwork6, "gateway": network.Away().Gateway6.Addr().String()}
}

// nodeIsAt looks from outside: each address answers and is certified, the Node object has just these, in this order, and
// nobody is left at the others.
func nodeIsAt(ctx context.Context, t *testing.T, l *lab.Lab, at, notAt []netip.Addr) {
	t.Helper()
	want := make([]string, 0, len(at))
	for _, a := range at {
		want = append(want, a.String())
	}
	for _, a := range at {
		seen := drive.Look(ctx, l, a)
		require.True(t, seen.Ping, "%s does not answer ping", a)
		require.True(t, seen.API, "no API at %s: %s", a, seen.Error)
		require.Equal(t, want, seen.NodeAddresses)
	}
	for _, a := range notAt {
		seen := drive.Look(ctx, l, a)
		require.False(t, seen.Ping || seen.API, "somebody still answers at %s", a)
	}
	etcdServes(ctx, t, l, at, notAt)
}

// upstream is whom the node's dnsmasq asks, in order.
func upstream(ctx context.Context, t *testing.T, l *lab.Lab) []string {
	t.Helper()
	var servers []string
	for line := range strings.Lines(in(ctx, t, l, "sh", "-c", "cat /var/run/NetworkManager/resolv.conf /etc/resolv.conf")) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "nameserver" && !slices.Contains(servers, f[1]) {
			servers = append(servers, f[1])
		}
	}
	return servers
}
