package nm_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nmtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// wiredConnection is the profile that RHCOS gives every card without configuration.
const wiredConnection = `[connection]
id=Wired Connection
uuid=aef2c1d5-5b0f-4f6c-9df0-6c7d8e9fa0b1
type=ethernet
autoconnect-priority=-100
multi-connect=3

[ethernet]

[ipv4]
dhcp-timeout=90
method=auto

[ipv6]
addr-gen-mode=eui64
method=disabled

[user]
org.freedesktop.NetworkManager.origin=nm-initrd-generator
`

// newSharedNode is a node with two cards, both up with a lease by one profile without an interface-name.
func newSharedNode(t *testing.T) *testNode {
	t.Helper()
	n := &testNode{Node: nmtest.Start(t), t: t, state: t.TempDir(), lease: victimLease}
	n.bootShared()
	n.ServeDHCP([]string{"uplink0", "uplink1"}, []string{"192.0.2.100,192.0.2.100,255.255.255.0", "198.51.100.100,198.51.100.100,255.255.255.0"})
	n.keyfile = n.Keyfile("default_connection.nmconnection", wiredConnection)
	n.reload()
	n.Until("both cards have a lease", n.leased)
	return n
}

// bootShared plugs both cards in.
func (n *testNode) bootShared() {
	n.boot()
	n.Card("uplink1", "02:00:00:00:00:11")
	n.Peer("addr", "add", "198.51.100.1/24", "dev", "uplink1p")
	n.IP("link", "set", "uplink1", "up")
}

func (n *testNode) leased() bool {
	out := n.IP("-o", "-4", "addr", "show")
	return strings.Contains(out, " 192.0.2.100/24 ") && strings.Contains(out, " 198.51.100.100/24 ") &&
		strings.Contains(n.IP("route"), "default via 192.0.2.1 dev uplink0 proto dhcp")
}

// profileOn is the name of the profile that is active.
func (n *testNode) profileOn(iface string) string {
	n.t.Helper()
	got, err := n.network().Observe(timeout(n.t))
	require.NoError(n.t, err)
	i, ok := got.Find(iface, "")
	require.True(n.t, ok)
	if i.ProfileName == "" {
		return i.Name
	}
	return i.ProfileName
}

// isShared demands that both cards are up by the shared profile, which is as it was, and that it is the only one.
func (n *testNode) isShared() {
	n.t.Helper()
	n.Until("both cards have their lease by the shared profile", func() bool {
		return n.leased() && n.profileOn("uplink0") == "Wired Connection" && n.profileOn("uplink1") == "Wired Connection"
	})
	require.Equal(n.t, wiredConnection, n.text(n.keyfile))
	for _, dir := range []string{nmtest.KeyfileDir, nmtest.VolatileDir} {
		files, err := n.disk.List(dir)
		require.NoError(n.t, err)
		for _, f := range files {
			require.Contains(n.t, []string{"default_connection.nmconnection", "lo.nmconnection"}, f, "in %s", dir)
		}
	}
	n.settled()
}

// sharedDocuments each name a card that is up by a shared profile, and say nothing of its addresses.
var sharedDocuments = map[string]string{
	"mtu":         "interfaces: [{name: uplink0, type: ethernet, state: up, mtu: 1400}]",
	"description": "interfaces: [{name: uplink0, type: ethernet, state: up, description: to the switch}]",
	"route":       "routes: {config: [{destination: 203.0.113.0/24, next-hop-interface: uplink0, next-hop-address: 192.0.2.1}]}",
	"dns":         "dns-resolver: {config: {server: [192.0.2.53]}}",
	"rule":        "route-rules: {config: [{ip-from: 192.0.2.0/24, route-table: 200, priority: 700, iif: uplink0}]}",
	"by MAC":      "interfaces: [{name: first, type: ethernet, state: up, identifier: mac-address, mac-address: '" + uplinkMAC + "', mtu: 1400}]",
}

// TestASharedProfileKeepsTheLease: what a document does not mention stays as the shared profile has it, also after a boot.
func TestASharedProfileKeepsTheLease(t *testing.T) {
	for name, doc := range sharedDocuments {
		t.Run(name, func(t *testing.T) {
			n := newSharedNode(t)
			n.inPlace("interfaces: [{name: uplink0, type: ethernet, state: up}]")
			require.ErrorIs(t, n.network().Apply(timeout(t), document(t, doc), no), errNo)
			n.isShared() // but for the metric, which NetworkManager chooses anew
			n.apply(doc)
			require.True(t, n.leased(), n.IP("addr"))
			n.inPlace(doc)
			require.Equal(t, wiredConnection, n.text(n.keyfile), "other cards use it")
			require.NotEqual(t, "Wired Connection", n.profileOn("uplink0"))
			require.Equal(t, "Wired Connection", n.profileOn("uplink1"))

			n.PowerCut()
			n.bootShared()
			n.StartNM()
			n.Until("it boots", n.leased)
			n.Until("the document is in force", func() bool {
				got, err := n.network().Observe(timeout(t))
				require.NoError(t, err)
				return len(netstate.Verify(document(t, doc), got)) == 0
			})
			require.Equal(t, "Wired Connection", n.profileOn("uplink1"))
		})
	}
}

// TestASharedProfileComesBackAfterACrash of this program and of NetworkManager in the middle of a change.
func TestASharedProfileComesBackAfterACrash(t *testing.T) {
	n := newSharedNode(t)
	v := n.victim(sharedDocuments["mtu"], "proof")
	require.NotEqual(t, "Wired Connection", n.profileOn("uplink0"))
	v.kill()
	n.KillNM()
	n.StartNM()
	require.NoError(t, n.network().Recover(timeout(t)))
	n.isShared()

	v = n.victim(sharedDocuments["mtu"], "proof")
	v.kill() // NetworkManager goes back by itself when the checkpoint ends
	n.Until("the shared profile is active", func() bool { return n.profileOn("uplink0") == "Wired Connection" && n.leased() })
	require.NoError(t, n.network().Recover(timeout(t)))
	n.isShared()
}

// TestASharedCardBecomesAPort and is up by the shared profile again when the change is refused.
func TestASharedCardBecomesAPort(t *testing.T) {
	n := newSharedNode(t)
	doc := "interfaces: [{name: br0, type: linux-bridge, state: up, ipv4: {enabled: true, dhcp: false, " +
		"address: [{ip: 192.0.2.9, prefix-length: 24}]}, bridge: {options: {stp: {enabled: false}}, port: [{name: uplink0}]}}]"
	require.ErrorIs(t, n.network().Apply(timeout(t), document(t, doc), no), errNo)
	n.isShared()
	n.missing("br0")
	n.apply(doc)
	n.inPlace(doc)
	require.Equal(t, wiredConnection, n.text(n.keyfile))
	require.Equal(t, "Wired Connection", n.profileOn("uplink1"))
}

// TestASharedProfileWithFixedAddresses may be for one card only, as installers write it for a machine with one card.
func TestASharedProfileWithFixedAddresses(t *testing.T) {
	for name, doc := range sharedDocuments {
		t.Run(name, func(t *testing.T) {
			doc = strings.ReplaceAll(doc, "priority: 700", "priority: 701") // NetworkManager leaves the rules of another test alone
			n := &testNode{Node: nmtest.Start(t), t: t, state: t.TempDir(), lease: victimLease}
			n.boot()
			text := strings.Replace(uplinkProfile, "interface-name=uplink0\n", "", 1)
			n.keyfile = n.Keyfile("uplink.nmconnection", text)
			n.reload()
			up := func() bool { return n.has("192.0.2.10/24", "2001:db8::10/64") }
			n.Until("the card is up", up)
			n.refusedByProof(doc)
			n.apply(doc)
			require.True(t, up(), n.IP("addr"))
			require.Contains(t, n.IP("route"), "default via 192.0.2.1 dev uplink0")
			n.inPlace(doc)
			require.Equal(t, text, n.text(n.keyfile))
		})
	}
}

// TestAProfileBoundToTheCardIsEdited: no other card can use it.
func TestAProfileBoundToTheCardIsEdited(t *testing.T) {
	n := &testNode{Node: nmtest.Start(t), t: t, state: t.TempDir(), lease: victimLease}
	n.boot()
	n.keyfile = n.Keyfile("uplink.nmconnection", strings.Replace(strings.Replace(
		uplinkProfile, "interface-name=uplink0\n", "", 1), "[ethernet]\n", "[ethernet]\nmac-address="+uplinkMAC+"\n", 1))
	n.reload()
	n.Until("the card is up", func() bool { return n.has("192.0.2.10/24") })
	n.apply(sharedDocuments["mtu"])
	require.True(t, n.has("192.0.2.10/24", "2001:db8::10/64"), n.IP("addr"))
	require.Contains(t, n.text(n.keyfile), "mtu=1400")
	files, err := n.disk.List(nmtest.KeyfileDir)
	require.NoError(t, err)
	require.Len(t, files, 1)
}
