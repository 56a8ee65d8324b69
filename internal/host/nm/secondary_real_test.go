package nm_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nmtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/hostnet"
)

// TestASecondaryNetworkLeavesThePrimaryAlone boots a node with the profiles that a pool's addresses become: a network on a VLAN of
// the uplink, and one on a card of its own. The uplink's own profile stays in force; a kernel without 8021q has no VLAN, which is
// no reason to lose it.
func TestASecondaryNetworkLeavesThePrimaryAlone(t *testing.T) {
	for name, i := range map[string]hostnet.Interface{
		"a VLAN of the uplink": {Name: "uplink0", VLAN: 20, Addresses: []hostnet.Address{{Prefix: netip.MustParsePrefix("198.51.100.9/24")}}},
		"another card":         {Name: "second0", Addresses: []hostnet.Address{{Prefix: netip.MustParsePrefix("198.51.100.9/24")}}},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			before := n.IP("-o", "addr", "show", "dev", "uplink0", "scope", "global")
			require.Contains(t, before, "192.0.2.10/24")
			n.PowerCut()
			files, err := hostnet.Host{Name: "worker-0", Interfaces: []hostnet.Interface{i}}.Keyfiles()
			require.NoError(t, err)
			for _, f := range files {
				n.Keyfile(f.Name, f.Text)
			}
			n.boot()
			n.Link("second0")
			n.IP("link", "set", "second0", "up")
			n.StartNM()
			n.Until("the uplink is up", func() bool { return n.has("192.0.2.10/24", "2001:db8::10/64") })
			require.Contains(t, n.IP("route"), "default via 192.0.2.1 dev uplink0")
			if i.VLAN == 0 {
				n.Until("the secondary network is up", func() bool {
					return n.IP("-o", "addr", "show", "dev", "second0", "to", "198.51.100.9/32") != ""
				})
			}
			require.Equal(t, uplinkProfile, n.text(nmtest.KeyfileDir+"/uplink.nmconnection"))
		})
	}
}

// TestALeaseOfAVLANPoolIsOneProfile: what the pool does not know of, the interface below, it does not configure.
func TestALeaseOfAVLANPoolIsOneProfile(t *testing.T) {
	i, err := hostnet.FromLeases(hostnet.Link{Name: "uplink0"},
		ipam.Lease{Pool: "storage", Address: netip.MustParseAddr("198.51.100.9"), Bits: 24, VLAN: 20, MTU: 9000})
	require.NoError(t, err)
	files, err := hostnet.Host{Name: "worker-0", Interfaces: []hostnet.Interface{i}}.Keyfiles()
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.Equal(t, "lca-uplink0.20.nmconnection", files[0].Name)
}
