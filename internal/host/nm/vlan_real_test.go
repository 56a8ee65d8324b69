package nm_test

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// newVLAN is a node whose uplink is a VLAN on a card, as an installer leaves it.
func newVLAN(t *testing.T) *testNode {
	t.Helper()
	n := newNode(t)
	if out, err := exec.Command("ip", "link", "add", "link", "uplink0", "name", "probe0", "type", "vlan", "id", "9").CombinedOutput(); err != nil {
		t.Skipf("reason: this kernel has no VLANs (modprobe 8021q): %s", out)
	}
	n.IP("link", "del", "probe0")
	for _, id := range []string{"7", "8"} {
		n.Peer("link", "add", "link", "uplink0p", "name", "p"+id, "type", "vlan", "id", id)
		n.Peer("addr", "add", "198.51.100.1/24", "dev", "p"+id)
		n.Peer("link", "set", "p"+id, "up")
	}
	return n
}

const vlanDocument = `
interfaces:
- {name: uplink0.7, type: vlan, state: up, vlan: {id: 7, base-iface: uplink0}, ipv4: {enabled: true, dhcp: false, address: [{ip: 198.51.100.7, prefix-length: 24}]}, ipv6: {enabled: false}}
routes: {config: [{destination: 203.0.113.0/24, next-hop-interface: uplink0.7, next-hop-address: 198.51.100.1}]}
`

func (n *testNode) vlan() string {
	out, err := exec.Command("ip", "-d", "-o", "addr", "show", "dev", "uplink0.7").CombinedOutput()
	if err != nil {
		return ""
	}
	link := n.IP("-d", "-o", "link", "show", "dev", "uplink0.7")
	return string(out) + link
}

func TestVLAN(t *testing.T) {
	n := newVLAN(t)
	no := func(context.Context) error { return errors.New("no") }
	err := n.network().Apply(timeout(t), document(t, vlanDocument), no)
	require.ErrorContains(t, err, "the old network is back")
	require.Empty(t, n.vlan(), "the new link is gone again")
	n.isOld()

	require.NoError(t, n.network().Apply(timeout(t), document(t, vlanDocument), nil))
	require.Contains(t, n.vlan(), "198.51.100.7/24")
	require.Contains(t, n.vlan(), "id 7 ")
	got, err := n.network().Observe(timeout(t))
	require.NoError(t, err)
	i, ok := got.Find("uplink0.7", netstate.TypeVLAN)
	require.True(t, ok)
	require.Equal(t, netstate.VLAN{ID: 7, BaseIface: "uplink0"}, *i.VLAN)

	// The IP change flow names the VLAN by its id alone.
	short := strings.ReplaceAll(strings.ReplaceAll(vlanDocument, ", base-iface: uplink0", ""), "198.51.100.7", "198.51.100.9")
	retagged := strings.ReplaceAll(short, "id: 7", "id: 8")
	err = n.network().Apply(timeout(t), document(t, retagged), func(context.Context) error {
		require.Contains(t, n.vlan(), "id 8 ")
		require.Contains(t, n.vlan(), "198.51.100.9/24")
		return errors.New("no")
	})
	require.ErrorContains(t, err, "the old network is back")
	require.Contains(t, n.vlan(), "id 7 ")
	require.Contains(t, n.vlan(), "198.51.100.7/24")

	require.NoError(t, n.network().Apply(timeout(t), document(t, retagged), nil))
	n.PowerCut()
	n.boot()
	n.StartNM()
	n.Until("the VLAN boots with its new tag", func() bool {
		return strings.Contains(n.vlan(), "id 8 ") && strings.Contains(n.vlan(), "198.51.100.9/24")
	})

	gone := document(t, "interfaces: [{name: uplink0.7, type: vlan, state: absent}]")
	err = n.network().Apply(timeout(t), gone, no)
	require.ErrorContains(t, err, "the old network is back")
	require.Contains(t, n.vlan(), "198.51.100.9/24")
	require.NoError(t, n.network().Apply(timeout(t), gone, nil))
	require.Empty(t, n.vlan())
	n.settled()
}

func TestVLANPowerCutInTheWindow(t *testing.T) {
	n := newVLAN(t)
	require.NoError(t, n.network().Apply(timeout(t), document(t, vlanDocument), nil))
	retagged := strings.ReplaceAll(vlanDocument, "id: 7", "id: 8")
	n.victim(retagged, "proof").kill()
	n.PowerCut()
	n.boot()
	n.StartNM()
	require.NoError(t, n.network().Recover(timeout(t)))
	n.Until("the old tag is back", func() bool { return strings.Contains(n.vlan(), "id 7 ") })

	n.victim(retagged, "proof").kill()
	n.Until("the lease is over", func() bool { return strings.Contains(n.vlan(), "id 7 ") })
	require.NoError(t, n.network().Recover(timeout(t)))
	n.settled()
}
