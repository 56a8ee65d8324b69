package nm_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nmtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/ovs"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// bridgeProfiles are the five that OpenShift's configure-ovs makes of a node's uplink.
var bridgeProfiles = map[string]string{
	"br-ex":          "type=ovs-bridge\ninterface-name=br-ex\n[ovs-bridge]\ndatapath-type=netdev\n",
	"ovs-port-phys0": "type=ovs-port\ninterface-name=uplink0\nmaster=br-ex\nslave-type=ovs-bridge\n",
	"ovs-if-phys0":   "type=ethernet\ninterface-name=uplink0\nmaster=00000000-0000-4000-8000-0000000000b1\nslave-type=ovs-port\n",
	"ovs-port-br-ex": "type=ovs-port\ninterface-name=br-ex\nmaster=br-ex\nslave-type=ovs-bridge\n",
	"ovs-if-br-ex": "type=ovs-interface\ninterface-name=br-ex\nmaster=00000000-0000-4000-8000-0000000000b3\nslave-type=ovs-port\n" +
		"[ovs-interface]\ntype=internal\n[ipv4]\nmethod=manual\naddress1=192.0.2.10/24,192.0.2.1\ndns=192.0.2.53;\nroute-metric=48\n[ipv6]\nmethod=disabled\n",
}

func newBridge(t *testing.T) *testNode {
	t.Helper()
	n := runningSwitch(t)
	for i, name := range []string{"br-ex", "ovs-port-phys0", "ovs-if-phys0", "ovs-port-br-ex", "ovs-if-br-ex"} {
		n.Keyfile(name+".nmconnection", fmt.Sprintf("[connection]\nid=%s\nuuid=00000000-0000-4000-8000-0000000000b%d\n%s", name, i, bridgeProfiles[name]))
	}
	n.reload()
	n.Until("br-ex is up", func() bool { return n.onBridge("192.0.2.10/24") })
	return n
}

func (n *testNode) onBridge(addr string) bool {
	for line := range strings.Lines(n.IP("-o", "-4", "addr", "show")) {
		if strings.Contains(line, " br-ex ") && strings.Contains(line, " "+addr+" ") {
			return true
		}
	}
	return false
}

func TestBridge(t *testing.T) {
	n := newBridge(t)
	net := n.network()
	got, err := net.Observe(timeout(t))
	require.NoError(t, err)
	br, ok := got.Find("br-ex", netstate.TypeOVSBridge)
	require.True(t, ok)
	require.Equal(t, []netstate.BridgePort{{Name: "br-ex"}, {Name: "uplink0"}}, br.Bridge.Ports)
	internal, ok := got.Find("br-ex", netstate.TypeOVSInterface)
	require.True(t, ok, "%+v", got.Interfaces)
	require.Equal(t, "192.0.2.10", internal.IPv4.Addresses[0].IP)
	require.False(t, *internal.IPv4.DHCP)
	r, ok := netstate.DefaultRoute(got, netstate.IPv4, "br-ex")
	require.True(t, ok)
	require.Equal(t, "192.0.2.1", r.NextHopAddress)
	uplink, err := ovs.New(nmtest.OVSSocket).Uplink(timeout(t), "br-ex")
	require.NoError(t, err)
	require.Equal(t, "uplink0", uplink)

	doc := document(t, `
interfaces:
- {name: br-ex, type: ovs-bridge, state: up, bridge: {allow-extra-patch-ports: true, port: [{name: br-ex}, {name: uplink0}]}}
- {name: br-ex, type: ovs-interface, state: up, ipv4: {enabled: true, dhcp: false, address: [{ip: 192.0.2.77, prefix-length: 24}]}}
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-interface: br-ex, next-hop-address: 192.0.2.1, state: absent}
  - {destination: 0.0.0.0/0, next-hop-interface: br-ex, next-hop-address: 192.0.2.254, metric: 48, table-id: 254}
`)
	err = net.Apply(timeout(t), doc, func(context.Context) error { return errors.New("no") })
	require.ErrorContains(t, err, "the old network is back")
	require.True(t, n.onBridge("192.0.2.10/24"))
	require.NoError(t, net.Apply(timeout(t), doc, nil))
	require.True(t, n.onBridge("192.0.2.77/24"))
	require.Contains(t, n.IP("route"), "default via 192.0.2.254 dev br-ex proto static metric 48")

	// A port that is only listed is made, as nmstate does; a card cannot be.
	wrong := document(t, "interfaces: [{name: br-ex, type: ovs-bridge, bridge: {port: [{name: eno9}]}}, {name: eno9, type: ethernet, state: up}]")
	require.ErrorContains(t, net.Apply(timeout(t), wrong, nil), "port eno9: there is no such network card")
}
