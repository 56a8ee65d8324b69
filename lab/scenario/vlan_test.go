//go:build lab

package scenario

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
	"github.com/lifecycle-agent/lifecycle-agent/lab/network"
)

// vlanPatience is for three changes, one after the other, on an emulated machine.
const vlanPatience = 100 * time.Minute

// TestVLAN moves the node into a VLAN, into another one, and out again. Each site is served in its VLAN only.
func TestVLAN(t *testing.T) {
	if kind() != machine.QEMU {
		t.Skip("reason: VLANs need a kernel with 8021q, which the emulated machine has: make test-vlan")
	}
	ctx, l, d := node(t, "scenario-vlan")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), vlanPatience)
	defer cancel()
	there := func(vlan int) object {
		return object{"ipv4": ipv4Away(), "dnsServers": []string{network.Away().DNS.Addr().String()}, "vlanID": vlan}
	}
	back := func(vlan int) object {
		return object{"ipv4": ipv4Home(), "dnsServers": []string{network.Home().DNS.Addr().String()}, "vlanID": vlan}
	}

	tagged := tag(ctx, t, l, 100, network.Away())
	change(ctx, t, d, there(100))
	isTagged(ctx, t, l, network.Uplink, away, home, 100)
	keep(ctx, t, d)

	tag(ctx, t, l, 200, network.Home())
	change(ctx, t, d, back(200))
	isTagged(ctx, t, l, network.Uplink, home, away, 200)
	keep(ctx, t, d)

	require.NoError(t, tagged.Close(ctx))
	change(ctx, t, d, there(0))
	isTagged(ctx, t, l, network.Uplink, away, home, 0)
	keep(ctx, t, d)
}

// tag moves a site of the LAN into a VLAN.
func tag(ctx context.Context, t *testing.T, l *lab.Lab, vlan int, site network.Site) *network.Tagged {
	t.Helper()
	tagged, err := l.Net.Tag(ctx, vlan, site)
	require.NoError(t, err)
	return tagged
}

// isTagged says that the node is at an address, in a VLAN (0 for none) on a card or a bond.
func isTagged(ctx context.Context, t *testing.T, l *lab.Lab, base string, at, notAt netip.Addr, vlan int) {
	t.Helper()
	nodeIsAt(ctx, t, l, []netip.Addr{at}, []netip.Addr{notAt})
	carriedBy(ctx, t, l, base, vlan)
}

// carriedBy says that br-ex hangs on a card or a bond, or on a VLAN of it, and that there is no other VLAN.
func carriedBy(ctx context.Context, t *testing.T, l *lab.Lab, base string, vlan int) {
	t.Helper()
	want := base
	if vlan > 0 {
		want = fmt.Sprintf("%s.%d", base, vlan)
	}
	require.Equal(t, want, in(ctx, t, l, "sh", "-c", "ovs-vsctl list-ports br-ex | grep -v '^patch'"))
	links := in(ctx, t, l, "sh", "-c", "ls /proc/net/vlan 2>/dev/null | grep -v config || true")
	if vlan == 0 {
		require.Empty(t, links, "no VLAN is left")
		return
	}
	require.Equal(t, want, links, "one VLAN, and no other is left")
}
