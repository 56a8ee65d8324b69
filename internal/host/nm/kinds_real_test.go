package nm_test

import (
	"context"
	"errors"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Every kind of link: a document makes it, runs unchanged the second time, is taken back when the proof fails, survives
// the power cut when it does not, and goes away. Kinds that the kernel lacks are tested in a guest with Debian's kernel
// (make test-network-kernel).

// needs skips the test where the kernel has no links of the kind.
func needs(t *testing.T, kind string) {
	t.Helper()
	args := map[string][]string{
		"vlan": {"link", "uplink0", "type", "vlan", "id", "9"}, "vrf": {"type", "vrf", "table", "99"},
		"bridge": {"type", "bridge", "vlan_filtering", "0"}, "filter": {"type", "bridge", "vlan_filtering", "1"},
		"macsec": {"link", "uplink0", "type", "macsec"},
	}[kind]
	if args == nil {
		args = []string{"type", kind}
	}
	if out, err := exec.Command("ip", append([]string{"link", "add", "name", "probe0"}, args...)...).CombinedOutput(); err != nil {
		t.Skipf("reason: this kernel has no %s: %s", kind, out)
	}
	defer func() { require.NoError(t, exec.Command("ip", "link", "del", "probe0").Run()) }()
	if kind == "filter" {
		out, err := exec.Command("cat", "/sys/class/net/probe0/bridge/vlan_filtering").CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != "1" {
			t.Skip("reason: this kernel filters no VLANs on bridges")
		}
	}
}

// cards makes network cards with a link.
func (n *testNode) cards(names ...string) {
	n.t.Helper()
	for _, name := range names {
		n.Link(name)
		n.IP("link", "set", name, "up")
	}
}

var errNo = errors.New("no")

func no(context.Context) error { return errNo }

func (n *testNode) apply(doc string) {
	n.t.Helper()
	require.NoError(n.t, n.network().Apply(timeout(n.t), document(n.t, doc), nil))
}

// inPlace demands that the document has nothing left to change.
func (n *testNode) inPlace(doc string) {
	n.t.Helper()
	plan, err := n.network().Plan(timeout(n.t), document(n.t, doc))
	require.NoError(n.t, err)
	require.Empty(n.t, plan)
}

// refusedByProof demands that the document is taken back, and that the state is then equal to the one before.
func (n *testNode) refusedByProof(doc string) {
	n.t.Helper()
	before := n.shown()
	err := n.network().Apply(timeout(n.t), document(n.t, doc), no)
	require.ErrorIs(n.t, err, errNo)
	require.ErrorContains(n.t, err, "the old network is back")
	now := ""
	n.t.Cleanup(func() {
		if n.t.Failed() && now != before {
			n.t.Logf("the state before:\n%s\nthe state now:\n%s", before, now)
		}
	})
	n.Until("the state before is back", func() bool { now = n.shown(); return now == before })
	n.settled()
}

var hardwareAddress = regexp.MustCompile(`(?m)^.*(mac-address|life-time): .*$`)

// shown is the whole observed state as text, without what changes by itself. The kernel chooses the MAC address of a link that is
// made anew, and with it the link-local address.
func (n *testNode) shown() string {
	n.t.Helper()
	got, err := n.network().Observe(timeout(n.t))
	require.NoError(n.t, err)
	text, err := got.Canonical().Encode()
	require.NoError(n.t, err)
	n.Until("the quick observation agrees with the thorough one", func() bool {
		thorough, err := n.network().ObserveThoroughly(timeout(n.t))
		require.NoError(n.t, err)
		quick, err := n.network().Observe(timeout(n.t))
		require.NoError(n.t, err)
		return assert.ObjectsAreEqual(thorough, quick)
	})
	return hardwareAddress.ReplaceAllString(string(text), "")
}

func (n *testNode) find(name, kind string) netstate.Interface {
	n.t.Helper()
	got, err := n.network().Observe(timeout(n.t))
	require.NoError(n.t, err)
	i, ok := got.Find(name, kind)
	require.True(n.t, ok, "interface %s of type %s in:\n%s", name, kind, n.shown())
	return i
}

func (n *testNode) missing(name string) {
	n.t.Helper()
	require.NotContains(n.t, n.IP("-o", "link"), " "+name+":")
	require.NotContains(n.t, n.IP("-o", "link"), " "+name+"@")
}

// kinds are documents of one kind each; remove takes away what up made.
var kinds = []struct {
	name, needs, up, remove, link, kind string
}{
	{"veth", "", `interfaces: [{name: pair0, type: veth, state: up, veth: {peer: pair1}, ipv4: {enabled: true, address: [{ip: 198.51.100.9, prefix-length: 24}]}},
  {name: pair1, type: veth, state: up}]`, `interfaces: [{name: pair0, type: veth, state: absent}, {name: pair1, type: veth, state: absent}]`, "pair0", "veth"},
	{"mac-vlan", "", `interfaces: [{name: mv0, type: mac-vlan, state: up, mac-vlan: {base-iface: nic1, mode: bridge}, ipv4: {enabled: true, address: [{ip: 198.51.100.9, prefix-length: 24}]}},
  {name: nic1, type: ethernet, state: up}]`, `interfaces: [{name: mv0, type: mac-vlan, state: absent}]`, "mv0", "mac-vlan"},
	{"linux-bridge", "bridge", `interfaces: [{name: br0, type: linux-bridge, state: up, bridge: {options: {stp: {enabled: false}}, port: [{name: nic1, stp-path-cost: 50}, {name: nic2}]},
  ipv4: {enabled: true, address: [{ip: 198.51.100.9, prefix-length: 24}]}}]`, `interfaces: [{name: br0, type: linux-bridge, state: absent}]`, "br0", "linux-bridge"},
	{"bond", "bond", `interfaces: [{name: bond7, type: bond, state: up, link-aggregation: {mode: active-backup, options: {miimon: 100}, port: [nic1, nic2]},
  ipv4: {enabled: true, address: [{ip: 198.51.100.9, prefix-length: 24}]}}]`, `interfaces: [{name: bond7, type: bond, state: absent}]`, "bond7", "bond"},
	{"dummy", "dummy", `interfaces: [{name: d0, type: dummy, state: up, ipv4: {enabled: true, address: [{ip: 198.51.100.9, prefix-length: 24}]}}]`,
		`interfaces: [{name: d0, type: dummy, state: absent}]`, "d0", "dummy"},
	{"vrf", "vrf", `interfaces: [{name: vrf0, type: vrf, state: up, vrf: {route-table-id: 100, port: [nic1]}},
  {name: nic1, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 198.51.100.9, prefix-length: 24}]}}]
routes: {config: [{destination: 203.0.113.0/24, next-hop-interface: nic1, next-hop-address: 198.51.100.1, table-id: 100}]}`,
		`interfaces: [{name: vrf0, type: vrf, state: absent}]`, "vrf0", "vrf"},
	{"vlan", "vlan", `interfaces: [{name: nic1.7, type: vlan, state: up, vlan: {id: 7, base-iface: nic1}, ipv4: {enabled: true, address: [{ip: 198.51.100.9, prefix-length: 24}]}},
  {name: nic1, type: ethernet, state: up}]`, `interfaces: [{name: nic1.7, type: vlan, state: absent}]`, "nic1.7", "vlan"},
	{"bridge that filters VLANs", "filter", `interfaces: [{name: br0, type: linux-bridge, state: up, bridge: {port: [
  {name: nic1, vlan: {mode: access, tag: 7}}, {name: nic2, vlan: {mode: trunk, trunk-tags: [{id: 9}, {id-range: {min: 20, max: 30}}]}}]}}]`,
		`interfaces: [{name: br0, type: linux-bridge, state: absent}]`, "br0", "linux-bridge"},
	{"VLAN over a bond below a bridge", "bond", `interfaces:
- {name: br0, type: linux-bridge, state: up, bridge: {port: [{name: bond7.7}]}, ipv4: {enabled: true, address: [{ip: 198.51.100.9, prefix-length: 24}]}}
- {name: bond7.7, type: vlan, state: up, vlan: {id: 7, base-iface: bond7}}
- {name: bond7, type: bond, state: up, link-aggregation: {mode: balance-xor, port: [nic2, nic1]}}`,
		`interfaces: [{name: br0, type: linux-bridge, state: absent}, {name: bond7, type: bond, state: absent}, {name: bond7.7, type: vlan, state: absent}]`, "br0", "linux-bridge"},
}

func TestKinds(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			n := newNode(t)
			if k.needs != "" {
				needs(t, k.needs)
			}
			n.cards("nic1", "nic2")
			n.refusedByProof(k.up)
			n.missing(k.link)
			n.apply(k.up)
			require.Equal(t, netstate.StateUp, n.find(k.link, k.kind).State)
			n.inPlace(k.up)

			n.PowerCut()
			n.boot()
			n.cards("nic1", "nic2")
			n.StartNM()
			n.Until("it boots", func() bool {
				got, err := n.network().Observe(timeout(t))
				return err == nil && len(netstate.Verify(document(t, k.up), got)) == 0 && n.has("192.0.2.10/24", "2001:db8::10/64")
			})
			n.refusedByProof(k.remove)
			require.Equal(t, netstate.StateUp, n.find(k.link, k.kind).State)
			n.apply(k.remove)
			n.missing(k.link)
			n.inPlace(k.remove)
			n.settled()
		})
	}
}

// A port of a bridge that is deleted gets another bridge, or its address back, in the same document.
func TestPortsMove(t *testing.T) {
	n := newNode(t)
	needs(t, "bridge")
	n.cards("nic1", "nic2")
	bridge := func(name, port string) string {
		return "{name: " + name + ", type: linux-bridge, state: up, bridge: {port: [{name: " + port + "}]}}"
	}
	absent := func(name string) string { return "{name: " + name + ", type: linux-bridge, state: absent}" }
	n.apply("interfaces: [" + bridge("br1", "nic1") + "]")
	n.refusedByProof("interfaces: [" + absent("br1") + "," + bridge("br2", "nic1") + "]")
	n.apply("interfaces: [" + absent("br1") + "," + bridge("br2", "nic1") + "]")
	n.missing("br1")
	require.Equal(t, "nic1", n.find("br2", "").Bridge.Ports[0].Name)

	n.apply("interfaces: [" + bridge("br2", "nic2") + "," + bridge("br3", "nic1") + "]")
	require.Equal(t, "nic2", n.find("br2", "").Bridge.Ports[0].Name)
	require.Equal(t, "nic1", n.find("br3", "").Bridge.Ports[0].Name)

	n.apply("interfaces: [" + absent("br3") + ",{name: nic1, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 198.51.100.9, prefix-length: 24}]}}]")
	n.missing("br3")
	require.Equal(t, "198.51.100.9", n.find("nic1", "").IPv4.Addresses[0].IP)

	n.apply("interfaces: [{name: br2, type: linux-bridge, state: up, bridge: {port: []}}]")
	require.Empty(t, n.find("br2", "").Bridge.Ports)
	n.apply("interfaces: [{name: nic2, type: ethernet, state: up, controller: br2}]")
	require.Equal(t, "nic2", n.find("br2", "").Bridge.Ports[0].Name)
	n.apply("interfaces: [{name: nic2, controller: ''}]")
	require.Empty(t, n.find("br2", "").Bridge.Ports)
}

// The address of the only uplink moves to a bridge over it, with the default route, and back.
func TestUplinkBelowABridge(t *testing.T) {
	n := newNode(t)
	needs(t, "bridge")
	doc := `
interfaces:
- {name: uplink0, type: ethernet, state: up, ipv4: {enabled: false}, ipv6: {enabled: false}}
- {name: br-ex, type: linux-bridge, state: up, copy-mac-from: uplink0, bridge: {options: {stp: {enabled: false}}, port: [{name: uplink0}]},
   ipv4: {enabled: true, dhcp: false, address: [{ip: 192.0.2.10, prefix-length: 24}]}, ipv6: {enabled: false}}
routes: {config: [{destination: 0.0.0.0/0, next-hop-interface: br-ex, next-hop-address: 192.0.2.1}]}
dns-resolver: {config: {server: [192.0.2.53]}}
`
	require.ErrorIs(t, n.network().Apply(timeout(t), document(t, doc), no), errNo)
	n.isOld()
	n.missing("br-ex")
	n.apply(doc)
	n.inPlace(doc)
	require.Contains(t, n.IP("route"), "default via 192.0.2.1 dev br-ex")
	require.Equal(t, n.find("uplink0", "").MACAddress, n.find("br-ex", "").MACAddress)
	n.apply(`
interfaces:
- {name: br-ex, type: linux-bridge, state: absent}
- {name: uplink0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: false, address: [{ip: 192.0.2.10, prefix-length: 24}]}}
routes: {config: [{destination: 0.0.0.0/0, next-hop-interface: uplink0, next-hop-address: 192.0.2.1}]}
`)
	require.Contains(t, n.IP("route"), "default via 192.0.2.1 dev uplink0")
}

func TestIdentifiedByMAC(t *testing.T) {
	n := newNode(t)
	n.cards("nic1")
	mac := n.find("nic1", "").MACAddress
	doc := "interfaces: [{name: lan, type: ethernet, state: up, identifier: mac-address, mac-address: '" + mac + "', ipv4: {enabled: true, address: [{ip: 198.51.100.9, prefix-length: 24}]}}]"
	n.refusedByProof(doc)
	n.apply(doc)
	got := n.find("nic1", "")
	require.Equal(t, "198.51.100.9", got.IPv4.Addresses[0].IP)
	require.Equal(t, "lan", got.ProfileName)
	n.inPlace(doc)
	err := n.network().Apply(timeout(t), document(t, "interfaces: [{name: x, type: ethernet, identifier: mac-address, mac-address: '02:00:00:00:00:01'}]"), nil)
	require.ErrorContains(t, err, "no interface has the MAC address")
}

func TestRouteRules(t *testing.T) {
	n := newNode(t)
	doc := `
route-rules:
  config:
  - {ip-from: 192.0.2.0/24, route-table: 200, priority: 1000}
  - {ip-to: 203.0.113.0/24, route-table: 200, fwmark: 0x1f}
  - {family: ipv6, ip-from: '2001:db8:7::/64', route-table: 201}
`
	n.refusedByProof(doc)
	n.apply(doc)
	require.Contains(t, n.IP("rule"), "from 192.0.2.0/24 lookup 200")
	require.Contains(t, n.IP("rule"), "fwmark 0x1f")
	require.Contains(t, n.IP("-6", "rule"), "from 2001:db8:7::/64 lookup 201")
	n.inPlace(doc)
	n.apply("route-rules: {config: [{state: absent, ip-from: '', route-table: 200}, {state: absent, route-table: 201}]}")
	require.Contains(t, n.IP("rule"), "from 192.0.2.0/24 lookup 200")
	require.NotContains(t, n.IP("rule"), "fwmark")
	require.NotContains(t, n.IP("-6", "rule"), "lookup 201")
}

// An interface that is down keeps its configuration.
func TestDownKeepsTheProfile(t *testing.T) {
	n := newNode(t)
	n.cards("nic1")
	n.apply("interfaces: [{name: nic1, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 198.51.100.9, prefix-length: 24}]}}]")
	n.apply("interfaces: [{name: nic1, type: ethernet, state: down}]")
	require.Empty(t, n.find("nic1", "").IPv4.Addresses)
	n.apply("interfaces: [{name: nic1, type: ethernet, state: up}]")
	require.Equal(t, "198.51.100.9", n.find("nic1", "").IPv4.Addresses[0].IP)
	n.apply("interfaces: [{name: nic1, type: ethernet, state: up, ipv4: {enabled: true, address: []}}]")
	require.Empty(t, n.find("nic1", "").IPv4.Addresses)
}
