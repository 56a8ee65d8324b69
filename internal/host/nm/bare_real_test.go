package nm_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nmtest"
)

// TestALinkWithoutAProfileIsRemoved, whichever program made it, of whatever kind; a change that is refused leaves what was on it.
func TestALinkWithoutAProfileIsRemoved(t *testing.T) {
	n := newNode(t)
	n.cards("card0")
	for kind, made := range map[string]string{
		"vxlan":        "link add odd0 type vxlan id 77 dev card0 remote 203.0.113.9 dstport 4789",
		"linux-bridge": "link add odd0 type bridge",
		"mac-vlan":     "link add link card0 name odd0 type macvlan mode bridge",
		"veth":         "link add odd0 type veth peer name odd1",
	} {
		t.Run(kind, func(t *testing.T) {
			n.t = t
			before := len(n.Log())
			n.IP(strings.Fields(made)...)
			n.IP("link", "set", "odd0", "up")
			if kind == "veth" {
				n.IP("link", "set", "odd1", "up")
			}
			n.lookedAt("odd0", before)
			n.IP("addr", "replace", "198.51.100.77/24", "dev", "odd0")
			n.IP("route", "replace", "198.18.7.0/24", "via", "198.51.100.1", "dev", "odd0")
			state := "absent"
			if kind == "linux-bridge" {
				state = "down" // without a profile to come back by, it is the same
			}
			doc := "interfaces: [{name: odd0, type: " + kind + ", state: " + state + "}]"
			n.refusedByProof(doc)
			require.Contains(t, n.IP("addr", "show", "dev", "odd0"), "198.51.100.77/24")
			require.Contains(t, n.IP("route"), "198.18.7.0/24")
			plan, err := n.network().Plan(timeout(t), document(t, doc))
			require.NoError(t, err)
			require.NotEmpty(t, plan)
			n.apply(doc)
			n.missing("odd0")
			n.inPlace(doc)
			n.settled()
		})
	}
}

// lookedAt waits until NetworkManager has decided about a link of another program, which it does by what the link has by then.
func (n *testNode) lookedAt(link string, before int) {
	n.t.Helper()
	n.Until("NetworkManager has looked at "+link, func() bool {
		said := n.Log()[before:]
		return strings.Contains(said, "device ("+link+"): state change: unavailable -> disconnected") ||
			strings.Contains(said, "device ("+link+"): Activation: successful")
	})
}

// TestALinkWithoutAProfileWhenTheCallerDies: before the commit it is as it was, after it it goes.
func TestALinkWithoutAProfileWhenTheCallerDies(t *testing.T) {
	n := newNode(t)
	n.IP("link", "add", "odd0", "type", "bridge")
	n.IP("link", "set", "odd0", "up")
	n.lookedAt("odd0", 0)
	n.IP("addr", "replace", "198.51.100.77/24", "dev", "odd0")
	doc := "interfaces: [{name: odd0, type: linux-bridge, state: absent}, {name: uplink0, type: ethernet, mtu: 1400}]"
	v := n.victim(doc, "proof")
	require.NotContains(t, n.IP("link", "show", "odd0"), ",UP")
	v.kill()
	require.NoError(t, n.network().Recover(timeout(t)))
	require.Contains(t, n.IP("link", "show", "odd0"), ",UP")
	require.Contains(t, n.IP("addr", "show", "dev", "odd0"), "198.51.100.77/24")
	n.settled()
	v = n.victim(doc, "committed")
	v.kill()
	require.NoError(t, n.network().Recover(timeout(t)))
	n.missing("odd0")
	n.settled()
}

// TestAProfileOfACardByItsMACIsRemoved: such a profile does not name the interface.
func TestAProfileOfACardByItsMACIsRemoved(t *testing.T) {
	n := newNode(t)
	n.cards("nic1")
	mac := n.find("nic1", "").MACAddress
	n.apply("interfaces: [{name: lan, type: ethernet, state: up, identifier: mac-address, mac-address: '" + mac +
		"', ipv4: {enabled: true, address: [{ip: 198.51.100.9, prefix-length: 24}]}}]")
	require.Contains(t, n.IP("addr", "show", "dev", "nic1"), "198.51.100.9/24")
	n.apply("interfaces: [{name: nic1, state: absent}]")
	require.NotContains(t, n.IP("addr", "show", "dev", "nic1"), "198.51.100.9/24")
	n.settled()

	n.apply("interfaces: [{name: lan, type: ethernet, state: up, identifier: mac-address, mac-address: '" + mac +
		"', ipv4: {enabled: true, address: [{ip: 198.51.100.9, prefix-length: 24}]}}]")
	n.apply("interfaces: [{name: lan, state: absent}]") // by the name that the document gave it
	require.NotContains(t, n.IP("addr", "show", "dev", "nic1"), "198.51.100.9/24")
	require.NoFileExists(t, filepath.Join(nmtest.KeyfileDir, "lan.nmconnection"))
}

// TestALinkIsAdoptedWithWhatItHas: the first profile of a link holds the addresses and routes that another program gave it, of the
// families that the document does not mention.
func TestALinkIsAdoptedWithWhatItHas(t *testing.T) {
	n := newNode(t)
	n.cards("card0")
	n.IP("addr", "add", "198.51.100.5/24", "dev", "card0")
	n.IP("addr", "add", "2001:db8:77::5/64", "dev", "card0", "nodad")
	n.IP("route", "add", "198.18.3.0/24", "via", "198.51.100.1", "dev", "card0")
	n.IP("-6", "route", "add", "2001:db8:78::/64", "via", "2001:db8:77::1", "dev", "card0")
	doc := onCard("mtu: 1400")
	n.apply(doc)
	n.inPlace(doc)
	text := n.text(filepath.Join(nmtest.KeyfileDir, "card0.nmconnection"))
	for _, stored := range []string{"198.51.100.5/24", "2001:db8:77::5/64", "198.18.3.0/24,198.51.100.1", "2001:db8:78::/64,2001:db8:77::1"} {
		require.Contains(t, text, stored)
	}
	require.Contains(t, n.IP("route"), "198.18.3.0/24 via 198.51.100.1")
	require.Contains(t, n.IP("-6", "addr", "show", "dev", "card0"), "2001:db8:77::5/64")
	n.settled()

	n.cards("card1")
	n.IP("addr", "add", "198.51.101.5/24", "dev", "card1")
	n.apply("interfaces: [{name: card1, type: ethernet, ipv4: {enabled: true, address: [{ip: 198.51.101.6, prefix-length: 24}]}}]")
	require.NotContains(t, n.text(filepath.Join(nmtest.KeyfileDir, "card1.nmconnection")), "198.51.101.5/24", "the document says which")
}

// TestABridgeIsAdoptedWithThePortsOfOthers: a bridge of another program keeps the ports that no document can describe, such as those of
// virtual machines.
func TestABridgeIsAdoptedWithThePortsOfOthers(t *testing.T) {
	n := newNode(t)
	n.cards("card0")
	n.IP("link", "add", "br0", "type", "bridge")
	n.IP("tuntap", "add", "name", "tap0", "mode", "tap")
	n.IP("link", "set", "tap0", "master", "br0")
	n.IP("link", "set", "tap0", "up")
	n.IP("link", "set", "br0", "up")
	doc := "interfaces: [{name: br0, type: linux-bridge, state: up, bridge: {port: [{name: card0}]}}]"
	err := n.network().Apply(timeout(t), document(t, doc), no)
	require.ErrorContains(t, err, "the old network is back")
	require.Contains(t, n.IP("link", "show", "tap0"), "master br0")
	require.NotContains(t, n.IP("link", "show", "card0"), "master br0")
	n.apply(doc)
	require.Contains(t, n.IP("link", "show", "tap0"), "master br0")
	require.Contains(t, n.IP("link", "show", "card0"), "master br0")
	n.inPlace(doc)
	listed := "interfaces: [{name: br0, type: linux-bridge, state: up, mtu: 1400, bridge: {port: [{name: card0}, {name: tap0}]}}]"
	n.apply(listed)
	n.inPlace(listed)
	require.Contains(t, n.IP("link", "show", "tap0"), "master br0")
	n.settled()
}

// TestRoutesOfAFamilyThatTurnsAutomaticGo, but for those of the document: the network gives the routes from there on.
func TestRoutesOfAFamilyThatTurnsAutomaticGo(t *testing.T) {
	n := newNode(t)
	n.cards("card0")
	n.Peer("addr", "add", "203.0.113.1/24", "dev", "card0p")
	n.ServeDHCP([]string{"card0"}, []string{"203.0.113.100,203.0.113.120,255.255.255.0"})
	routes := func(destinations ...string) string {
		var all []string
		for _, d := range destinations {
			all = append(all, "{next-hop-interface: card0, next-hop-address: 203.0.113.1, destination: "+d+"}")
		}
		return "\nroutes: {config: [" + strings.Join(all, ", ") + "]}"
	}
	n.apply(onCard(card4) + routes("198.18.1.0/24", "198.18.2.0/24"))
	leased := onCard("ipv4: {enabled: true, dhcp: true}")
	n.refusedByProof(leased)
	n.apply(leased + routes("198.18.2.0/24"))
	require.NotContains(t, n.IP("route"), "198.18.1.0/24")
	n.Until("the route of the document is there", func() bool { return strings.Contains(n.IP("route"), "198.18.2.0/24") })
	n.apply(onCard("ipv4: {enabled: true, dhcp: true, auto-dns: false}"))
	require.Contains(t, n.IP("route"), "198.18.2.0/24", "it was automatic before")
	n.settled()
}

// TestAWindowWithoutItsLockIsNone: the kernel keeps to a congestion window with its lock alone.
func TestAWindowWithoutItsLockIsNone(t *testing.T) {
	n := newNode(t)
	n.IP("route", "add", "198.18.8.0/24", "via", "192.0.2.1", "dev", "uplink0", "cwnd", "20")
	n.IP("route", "add", "198.18.9.0/24", "via", "192.0.2.1", "dev", "uplink0", "cwnd", "lock", "30")
	d, err := n.network().Observe(timeout(t))
	require.NoError(t, err)
	seen := map[string]int{}
	for _, r := range d.Routes.Config {
		seen[r.Destination] = r.CWND
	}
	require.Equal(t, 0, seen["198.18.8.0/24"])
	require.Equal(t, 30, seen["198.18.9.0/24"])
}
