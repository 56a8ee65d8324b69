package nm_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// bondOf is a bond over nic1 and nic2.
func bondOf(options string) string {
	return "interfaces: [{name: bond7, type: bond, state: up, link-aggregation: {mode: active-backup, options: {" + options + "}, port: [nic1, nic2]}}]"
}

func (n *testNode) primary() string {
	return strings.TrimSpace(n.text("/sys/class/net/bond7/bonding/primary"))
}

func TestPrimaryIsCleared(t *testing.T) {
	n := newNode(t)
	needs(t, "bond")
	n.cards("nic1", "nic2")
	n.apply(bondOf("miimon: 100, primary: nic1"))
	require.Equal(t, "nic1", n.primary())
	n.refusedByProof(bondOf("primary: ''"))
	require.Equal(t, "nic1", n.primary(), "rolled back")
	n.apply(bondOf("primary: ''"))
	require.Empty(t, n.primary())
	n.inPlace(bondOf("primary: ''"))
	n.apply(bondOf("primary: nic2"))
	require.Equal(t, "nic2", n.primary())
}

// A port leaves a bridge for a bond and comes back, each in one document.
func TestPortMovesBetweenABridgeAndABond(t *testing.T) {
	n := newNode(t)
	needs(t, "bond")
	n.cards("nic1", "nic2")
	bridge := func(port string) string {
		return "{name: br0, type: linux-bridge, state: up, bridge: {port: [" + port + "]}}"
	}
	bond := func(ports string) string {
		return "{name: bond7, type: bond, state: up, link-aggregation: {mode: active-backup, options: {miimon: 100}, port: [" + ports + "]}}"
	}
	n.apply("interfaces: [" + bridge("{name: nic1}") + "]")
	there := "interfaces: [" + bridge("") + "," + bond("nic1, nic2") + "]"
	n.refusedByProof(there)
	n.apply(there)
	require.Equal(t, []string{"nic1", "nic2"}, n.find("bond7", "").Bond.Ports)
	require.Empty(t, n.find("br0", "").Bridge.Ports)
	n.inPlace(there)
	back := "interfaces: [" + bridge("{name: nic1}") + "," + bond("nic2") + "]"
	n.apply(back)
	require.Equal(t, []string{"nic2"}, n.find("bond7", "").Bond.Ports)
	require.Equal(t, "nic1", n.find("br0", "").Bridge.Ports[0].Name)
	n.inPlace(back)
}

// bondProfiles are the key files of a node whose uplink is a bond, as an installer wrote them.
var bondProfiles = map[string]string{
	"bond7.nmconnection": `[connection]
id=bond7
uuid=5f6b8a5e-1c9e-4d3b-9a70-0c7d1a2b3c70
type=bond
interface-name=bond7
autoconnect-slaves=1

[bond]
miimon=100
mode=active-backup
primary=nic1

[ipv4]
address1=198.51.100.10/24
gateway=198.51.100.1
method=manual

[ipv6]
method=disabled
`,
	"nic1.nmconnection": `[connection]
id=nic1
uuid=5f6b8a5e-1c9e-4d3b-9a70-0c7d1a2b3c71
type=ethernet
interface-name=nic1
master=bond7
slave-type=bond
`,
	"nic2.nmconnection": `[connection]
id=nic2
uuid=5f6b8a5e-1c9e-4d3b-9a70-0c7d1a2b3c72
type=ethernet
interface-name=nic2
master=bond7
slave-type=bond
`,
}

// TestTheUplinkIsABond changes addresses of a bond, moves them to a VLAN on it and back, by documents as the IP change
// writes them: they name the bond and say nothing of what it is made of.
func TestTheUplinkIsABond(t *testing.T) {
	n := newNode(t)
	needs(t, "bond")
	needs(t, "vlan")
	n.cards("nic1", "nic2")
	files := map[string]string{}
	for name, text := range bondProfiles {
		files[n.Keyfile(name, text)] = text
	}
	n.reload()
	n.Until("the bond is up", func() bool { return strings.Contains(n.IP("-o", "addr", "show", "dev", "bond7"), " 198.51.100.10/24 ") })
	n.Until("both ports", func() bool { return len(n.find("bond7", "").Bond.Ports) == 2 })
	before := *n.find("bond7", "").Bond
	require.Equal(t, []string{"nic1", "nic2"}, before.Ports)

	to := func(address, iface string) string {
		return fmt.Sprintf(`ipv4: {enabled: true, dhcp: false, address: [{ip: %s, prefix-length: 24}]}, ipv6: {enabled: false}}]
routes: {config: [{destination: 0.0.0.0/0, next-hop-interface: %s, next-hop-address: 203.0.113.1, metric: 48, table-id: 254}]}`, address, iface)
	}
	const bond = "interfaces: [{name: bond7, type: bond, state: up, "
	none := bond + "ipv4: {enabled: false}, ipv6: {enabled: false}}, "
	vlan := none + "{name: bond7.100, type: vlan, state: up, vlan: {id: 100, base-iface: bond7}, "
	gone := "interfaces: [{name: bond7.100, type: vlan, state: absent}, {name: bond7, type: bond, state: up, "

	n.refusedByProof(bond + to("203.0.113.20", "bond7"))
	n.refusedByProof(vlan + to("203.0.113.20", "bond7.100"))
	for path, text := range files {
		require.Equal(t, text, n.text(path), "refused: byte for byte")
	}
	for _, doc := range []string{
		bond + to("203.0.113.20", "bond7"), vlan + to("203.0.113.30", "bond7.100"), gone + to("203.0.113.40", "bond7"),
	} {
		n.apply(doc)
		n.inPlace(doc)
		require.Equal(t, before, *n.find("bond7", "").Bond, "%s", doc)
		n.Until("the first card is in use", func() bool { return strings.TrimSpace(n.text("/sys/class/net/bond7/bonding/active_slave")) == "nic1" })
	}
	n.missing("bond7.100")
	require.Equal(t, "nic1", n.primary())
	for path, text := range files {
		if !strings.HasSuffix(path, "bond7.nmconnection") {
			require.Equal(t, text, n.text(path), "the ports' profiles are not written")
		}
	}
}
