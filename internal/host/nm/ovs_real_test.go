package nm_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nmtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// runningSwitch is a node with an uplink that no profile is for, and a NetworkManager that drives Open vSwitch.
func runningSwitch(t *testing.T) *testNode {
	t.Helper()
	n := &testNode{Node: nmtest.Bare(t), t: t, state: t.TempDir(), lease: 20 * time.Second, ovs: true}
	n.NeedsOVSPlugin()
	n.StartOVS()
	n.boot()
	n.StartManager()
	return n
}

// newSwitch is a node with an uplink, two cards, and a NetworkManager that drives Open vSwitch.
func newSwitch(t *testing.T) *testNode {
	t.Helper()
	n := runningSwitch(t)
	n.keyfile = n.Keyfile("uplink.nmconnection", uplinkProfile)
	n.reload()
	n.cards("nic1", "nic2")
	n.Until("the uplink is up", func() bool { return n.has("192.0.2.10/24", "2001:db8::10/64") })
	return n
}

// A bridge with a card, an interface of its own name, a tagged one, and one end of a patch.
const switched = `
interfaces:
- name: br1
  type: ovs-bridge
  state: up
  description: to the storage
  bridge:
    options: {stp: false, mcast-snooping-enable: true, fail-mode: standalone, datapath: netdev}
    port:
    - {name: br1}
    - {name: nic1, vlan: {mode: trunk, trunk-tags: [{id: 7}, {id-range: {min: 20, max: 30}}]}}
    - {name: store, vlan: {mode: access, tag: 100}}
- {name: br1, type: ovs-interface, state: up, mtu: 1400, ipv4: {enabled: true, dhcp: false, address: [{ip: 198.51.100.9, prefix-length: 24}]}}
- {name: store, type: ovs-interface, state: up, ipv4: {enabled: true, dhcp: false, address: [{ip: 203.0.113.9, prefix-length: 24}]}}
routes: {config: [{destination: 203.0.113.128/25, next-hop-interface: store, next-hop-address: 203.0.113.1}]}
`

func (n *testNode) vsctl(args ...string) string {
	n.t.Helper()
	cmd, err := nmtest.Command(n.t.Context(), "ovs-vsctl", args...)
	require.NoError(n.t, err)
	out, err := cmd.CombinedOutput()
	require.NoError(n.t, err, "%s", out)
	return strings.TrimSpace(string(out))
}

// takenBack demands that a document that fails its proof leaves the former one in place. NetworkManager may choose other
// metrics for interfaces that it makes anew.
func (n *testNode) takenBack(doc, former string) {
	n.t.Helper()
	err := n.network().Apply(timeout(n.t), document(n.t, doc), no)
	require.ErrorIs(n.t, err, errNo)
	require.ErrorContains(n.t, err, "the old network is back")
	n.Until("the former network is in place", func() bool {
		plan, err := n.network().Plan(timeout(n.t), document(n.t, former))
		return err == nil && len(plan) == 0
	})
	n.settled()
}

// An Open vSwitch bridge is made, taken back by a failed proof, survives a power cut, changes and goes away.
func TestAnOpenVSwitchBridge(t *testing.T) {
	n := newSwitch(t)
	n.refusedByProof(switched)
	require.Empty(t, n.vsctl("list-br"))
	n.isOld()

	n.apply(switched)
	require.Equal(t, "br1", n.vsctl("list-br"))
	require.Equal(t, "nic1\nstore", n.vsctl("list-ports", "br1"))
	require.Equal(t, "100", n.vsctl("get", "Port", "store", "tag"))
	require.Equal(t, "true", n.vsctl("get", "Bridge", "br1", "mcast_snooping_enable"))
	require.Equal(t, 1400, n.find("br1", netstate.TypeOVSInterface).MTU)
	require.Equal(t, "203.0.113.9", n.find("store", "").IPv4.Addresses[0].IP)
	require.Contains(t, n.IP("route"), "203.0.113.128/25 via 203.0.113.1 dev store")
	n.inPlace(switched)
	n.settled()

	n.PowerCut()
	n.RestartOVS()
	n.boot()
	n.cards("nic1", "nic2")
	n.StartNM()
	n.Until("it boots", func() bool {
		got, err := n.network().Observe(timeout(t))
		return err == nil && len(netstate.Verify(document(t, switched), got)) == 0 && n.has("192.0.2.10/24")
	})

	gone := "interfaces: [{name: br1, type: ovs-bridge, state: absent}]"
	n.takenBack(gone, switched)
	n.apply(gone)
	require.Empty(t, n.vsctl("list-br"))
	n.missing("br1")
	n.missing("store")
	n.inPlace(gone)
	n.settled()
	n.isOld()
}

// Ports come, go and move; their VLANs and the bridge's options change; the rest stays.
func TestPortsOfAnOpenVSwitchBridge(t *testing.T) {
	n := newSwitch(t)
	n.apply(switched)
	tagged := `interfaces: [{name: br1, type: ovs-bridge, bridge: {options: {rstp: true}, port: [{name: br1}, {name: nic1},
  {name: store, vlan: {mode: access, tag: 200}}]}}]`
	n.takenBack(tagged, switched)
	require.Equal(t, "100", n.vsctl("get", "Port", "store", "tag"))
	n.apply(tagged)
	require.Equal(t, "200", n.vsctl("get", "Port", "store", "tag"))
	require.Equal(t, "true", n.vsctl("get", "Bridge", "br1", "rstp_enable"))
	require.Equal(t, "203.0.113.9", n.find("store", "").IPv4.Addresses[0].IP)
	n.inPlace(tagged)

	noted := `interfaces: [{name: br1, type: ovs-bridge, ovs-db: {external_ids: {rack: seven}, other_config: {mac-aging-time: "600"}}},
  {name: store, type: ovs-interface, ovs-db: {external_ids: {use: storage}}}]`
	n.apply(noted)
	require.Equal(t, "seven", n.vsctl("get", "Bridge", "br1", "external_ids:rack"))
	require.Equal(t, `"600"`, n.vsctl("get", "Bridge", "br1", "other_config:mac-aging-time"))
	require.Equal(t, "storage", n.vsctl("get", "Interface", "store", "external_ids:use"))
	n.inPlace(noted)
	n.apply("interfaces: [{name: br1, type: ovs-bridge, ovs-db: {external_ids: {rack: null}}}]")
	require.NotContains(t, n.vsctl("get", "Bridge", "br1", "external_ids"), "rack")

	fewer := `interfaces:
- {name: br1, type: ovs-bridge, bridge: {port: [{name: br1}, {name: nic2}]}}
- {name: nic1, type: ethernet, state: up, ipv4: {enabled: true, dhcp: false, address: [{ip: 198.51.100.77, prefix-length: 24}]}}`
	n.takenBack(fewer, tagged)
	n.apply(fewer)
	require.Equal(t, "nic2", n.vsctl("list-ports", "br1"))
	n.missing("store")
	require.Equal(t, "198.51.100.77", n.find("nic1", "").IPv4.Addresses[0].IP)
	require.Equal(t, "198.51.100.9", n.find("br1", netstate.TypeOVSInterface).IPv4.Addresses[0].IP)
	n.inPlace(fewer)

	second := `interfaces:
- {name: br2, type: ovs-bridge, state: up, bridge: {options: {datapath: netdev}, port: [{name: nic2}, {name: p2}]}}
- {name: p2, type: ovs-interface, state: up, patch: {peer: p1}}
- {name: br1, type: ovs-bridge, bridge: {port: [{name: br1}, {name: p1}]}}
- {name: p1, type: ovs-interface, state: up, patch: {peer: p2}}`
	n.apply(second)
	require.Equal(t, "nic2\np2", n.vsctl("list-ports", "br2"))
	require.Equal(t, "p1", n.vsctl("list-ports", "br1"))
	require.Equal(t, "p2", n.find("p1", "").Patch.Peer)
	n.inPlace(second)
	n.apply("interfaces: [{name: p1, type: ovs-interface, state: absent}, {name: p2, type: ovs-interface, state: absent}]")
	require.Empty(t, n.vsctl("list-ports", "br1"))
	n.settled()
}

// Two cards are bonded inside a bridge.
func TestABondInsideAnOpenVSwitchBridge(t *testing.T) {
	n := newSwitch(t)
	doc := `interfaces:
- name: br1
  type: ovs-bridge
  state: up
  bridge:
    options: {datapath: netdev}
    port: [{name: bond1, link-aggregation: {mode: active-backup, port: [{name: nic1}, {name: nic2}]}}, {name: br1}]
- {name: br1, type: ovs-interface, state: up, ipv4: {enabled: true, dhcp: false, address: [{ip: 198.51.100.9, prefix-length: 24}]}}`
	n.refusedByProof(doc)
	n.apply(doc)
	require.Equal(t, "active-backup", n.vsctl("get", "Port", "bond1", "bond_mode"))
	require.Equal(t, []string{"nic1", "nic2"}, n.find("br1", netstate.TypeOVSBridge).Ports()[:2])
	n.inPlace(doc)
	n.apply("interfaces: [{name: br1, type: ovs-bridge, state: absent}]")
	require.Empty(t, n.vsctl("list-br"))
	n.settled()
}

// A bridge that is down keeps its profiles.
func TestAnOpenVSwitchBridgeThatIsDown(t *testing.T) {
	n := newSwitch(t)
	n.apply(switched)
	down := "interfaces: [{name: br1, type: ovs-bridge, state: down}]"
	n.takenBack(down, switched)
	n.apply(down)
	require.Empty(t, n.vsctl("list-br"))
	n.inPlace(down)
	n.apply(switched)
	n.inPlace(switched)
	require.Equal(t, "100", n.vsctl("get", "Port", "store", "tag"))
}

// A bridge of another program is accepted as it is, and changed by that program alone.
func TestABridgeOfAnotherProgramIsLeftAlone(t *testing.T) {
	n := newSwitch(t)
	n.vsctl("add-br", "br-int", "--", "set", "Bridge", "br-int", "datapath_type=netdev",
		"--", "add-port", "br-int", "pod0", "--", "set", "Interface", "pod0", "type=internal")
	n.apply("interfaces: [{name: br-int, type: ovs-bridge, bridge: {port: [{name: pod0}]}}]")
	for _, doc := range []string{
		"interfaces: [{name: br-int, type: ovs-bridge, bridge: {port: [{name: nic1}]}}]",
		"interfaces: [{name: br-int, type: ovs-bridge, state: absent}]",
	} {
		err := n.network().Apply(timeout(t), document(t, doc), nil)
		require.ErrorContains(t, err, "was made without NetworkManager")
	}
	require.Equal(t, "pod0", n.vsctl("list-ports", "br-int"))
}

// A bridge without ports is in force by its profile; Open vSwitch has it from its first port to its last.
func TestABridgeOfOpenVSwitchWithoutPorts(t *testing.T) {
	n := newSwitch(t)
	const empty = "interfaces: [{name: br1, type: ovs-bridge, state: up, bridge: {options: {datapath: netdev}, port: []}}]"
	n.refusedByProof(empty)
	n.apply(empty)
	n.inPlace(empty)
	n.apply("interfaces: [{name: br1, bridge: {port: [{name: nic1}]}}]")
	require.Equal(t, "nic1", n.vsctl("list-ports", "br1"))
	n.apply("interfaces: [{name: br1, bridge: {port: []}}]")
	n.inPlace(empty)
	n.apply("interfaces: [{name: br1, state: absent}]")
	require.Empty(t, n.vsctl("list-br"))
	n.settled()
}

// Open vSwitch keeps its database on the disk, NetworkManager the profiles of a bridge on trial in memory.
func TestPowerCutWhileABridgeIsOnTrial(t *testing.T) {
	n := newSwitch(t)
	v := n.victim(switched, "proof")
	require.Equal(t, "br1", n.vsctl("list-br"))
	v.kill()
	n.PowerCut()
	n.RestartOVS()
	n.boot()
	n.cards("nic1", "nic2")
	n.StartNM()
	require.NoError(t, n.network().Recover(timeout(t)))
	require.Empty(t, n.vsctl("list-br"))
	n.isOld()
	n.apply(switched)
	n.inPlace(switched)
}

func TestTheCallerDiesWhileABridgeIsOnTrial(t *testing.T) {
	n := newSwitch(t)
	v := n.victim(switched, "proof")
	v.kill()
	n.Until("NetworkManager goes back by itself", func() bool { return n.vsctl("list-br") == "" })
	require.NoError(t, n.network().Recover(timeout(t)))
	n.isOld()
}
