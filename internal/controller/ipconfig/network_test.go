package ipconfig

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

const tagged = `
interfaces:
- name: br-ex
  type: ovs-bridge
  bridge:
    port:
    - name: enp1s0.100
    - name: br-ex
    - name: patch-br-ex_sno-to-br-int
- name: br-ex
  type: ovs-interface
  ipv4: {enabled: true, dhcp: false, address: [{ip: 192.0.2.11, prefix-length: 28}, {ip: 192.0.2.10, prefix-length: 27}]}
  ipv6: {enabled: true, dhcp: false, autoconf: true}
- name: enp1s0.100
  type: vlan
  vlan: {id: 100, base-iface: enp1s0}
routes:
  running:
  - {destination: 0.0.0.0/0, next-hop-interface: eth9, next-hop-address: 203.0.113.1, metric: 1}
  - {destination: 0.0.0.0/0, next-hop-interface: br-ex, next-hop-address: 192.0.2.254, metric: 100}
  - {destination: 0.0.0.0/0, next-hop-interface: br-ex, next-hop-address: 192.0.2.1, metric: 48}
  - {destination: "::/0", next-hop-interface: br-ex, next-hop-address: "fe80::1", metric: 48}
dns-resolver:
  running: {server: ["2001:db8::53", 192.0.2.53]}
`

func TestDescribeNetwork(t *testing.T) {
	doc, err := netstate.Decode([]byte(tagged))
	require.NoError(t, err)
	now := ipconfig.Current{IPv4: &lcav1.IPStatus{Address: "192.0.2.10"}, IPv6: &lcav1.IPStatus{Address: "2001:db8::10"}}
	now.Describe(doc)
	require.Equal(t, "192.0.2.1", now.IPv4.Gateway, "the route of least metric over br-ex")
	require.Equal(t, "fe80::1", now.IPv6.Gateway)
	require.Equal(t, int32(27), now.IPv4.PrefixLength, "that of the node's own address")
	require.Zero(t, now.IPv6.PrefixLength, "br-ex does not have the address")
	require.Equal(t, []string{"2001:db8::53", "192.0.2.53"}, now.DNSServers)
	require.Equal(t, int32(100), now.VLANID)
	require.Equal(t, "enp1s0.100", now.Uplink)
	require.Equal(t, []string{"IPv6 autoconfiguration"}, now.Dynamic)
}

func TestDescribeNetworkWithoutBridge(t *testing.T) {
	now := ipconfig.Current{IPv4: &lcav1.IPStatus{}}
	now.Describe(netstate.Document{})
	require.Equal(t, ipconfig.Current{IPv4: &lcav1.IPStatus{}}, now)
}

// On a tagged node the VLAN stays unless the user says otherwise.
func TestVLANThatReachesTheNode(t *testing.T) {
	for name, c := range map[string]struct {
		say  *int32
		want int
	}{
		"left out keeps": {nil, 100},
		"0 removes":      {new(int32), 0},
		"a number sets":  {number(200), 200},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.tag(100)
			require.Equal(t, int32(100), w.rest().Status.VLANID)
			ipc := w.change(func(ipc *lcav1.IPConfig) {
				toNewAddress(ipc)
				ipc.Spec.VLANID = c.say
			})
			request, err := ipconfig.ReadRequest(w.node)
			require.NoError(t, err, "%v", ipc.Status.Conditions)
			require.Equal(t, c.want, request.VLANID)
			require.Equal(t, 100, request.CurrentVLANID)
		})
	}
}

func number(n int32) *int32 { return &n }

// tag puts the uplink of the fake node into a VLAN.
func (w *world) tag(id int) {
	name := fmt.Sprintf("enp1s0.%d", id)
	w.node.doc.Interfaces[0].Bridge.Ports[1].Name = name
	w.node.doc.Interfaces = append(w.node.doc.Interfaces, netstate.Interface{
		Name: name, Type: netstate.TypeVLAN, VLAN: &netstate.VLAN{ID: id, BaseIface: "enp1s0"},
	})
}

// The machine network of the install-config says nothing about the link.
func TestTheCardKeepsItsPrefixLength(t *testing.T) {
	w := newWorld(t)
	w.node.doc.Interfaces[1].IPv4.Addresses[0].PrefixLength = 26
	require.Equal(t, int32(26), w.rest().Status.IPv4.PrefixLength)
	ipc := w.change(func(ipc *lcav1.IPConfig) {
		ipc.Spec.Stage = lcav1.StageConfig
		ipc.Spec.IPv4 = &lcav1.IPv4Config{Address: "192.0.2.11"}
	})
	request, err := ipconfig.ReadRequest(w.node)
	require.NoError(t, err, "%v", ipc.Status.Conditions)
	require.Equal(t, 26, request.IPv4PrefixLength)
	require.Equal(t, "192.0.2.0/24", request.IPv4MachineNetwork)
	require.Contains(t, ipc.Status.Plan.NMState, "prefix-length: 26")
	for _, check := range ipc.Status.Preflight {
		if check.Name == "prefix-length" {
			require.Contains(t, check.Message, "machine network 192.0.2.0/24 has prefix length /24, and the network card has /26")
			return
		}
	}
	t.Fatal("the difference is not reported")
}

// TestStatusPlanNamesWhatElseTheUplinkHas before the change begins.
func TestStatusPlanNamesWhatElseTheUplinkHas(t *testing.T) {
	w := newWorld(t)
	ip := w.node.doc.Interfaces[1].IPv4
	ip.Addresses = append(ip.Addresses, netstate.Address{IP: "203.0.113.9", PrefixLength: 24})
	w.rest()
	plan := w.change(toNewAddress).Status.Plan
	require.Equal(t, []string{"kept: address 203.0.113.9/24"}, plan.UplinkExtras)
	require.Contains(t, plan.NMState, "203.0.113.9")
}
