//go:build lab

package scenario

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
	"github.com/lifecycle-agent/lifecycle-agent/lab/network"
)

// linksPatience is for a boot and some twenty changes of the network on an emulated machine.
const linksPatience = 100 * time.Minute

// links is a node with two extra cards on the LAN, configured by documents at its console.
type links struct {
	t   *testing.T
	lab *lab.Lab
	// a and b are the extra cards.
	a, b string
	// gateway is where the default route leads.
	gateway netip.Addr
}

// TestLinkKinds configures every kind of link on a node that is up, by the verb of documents: each is there afterwards, the
// gateway answers still, and the same document again changes nothing. What would cut the node off is rolled back by the node
// itself.
func TestLinkKinds(t *testing.T) {
	if kind() != machine.QEMU {
		t.Skip("reason: bonds, VLANs and VRFs need a kernel that has them, as the emulated machine does: make test-links")
	}
	ctx := begin(t)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), linksPatience)
	t.Cleanup(cancel)
	node := bootWith(ctx, t, "scenario-links", lab.Tools{Cards: 2})
	t.Cleanup(func() { takeDown(t, node) })
	for _, module := range []string{"bonding", "8021q", "vrf", "dummy", "bridge", "veth"} {
		if !says(ctx, node, "modprobe "+module) {
			t.Skipf("reason: the node's kernel has no module %s", module)
		}
	}
	k := &links{t: t, lab: node, gateway: network.Home().Gateway.Addr()}
	k.a, k.b = k.card(ctx, 1), k.card(ctx, 2)
	k.stack(ctx)
	k.filters(ctx)
	k.pairs(ctx)
	k.primaries(ctx)
	k.uplink(ctx)
	cut(ctx, t, node)
	require.NoError(t, node.Ready(ctx))
	until(ctx, t, "the pair and the uplink after a boot", func() bool {
		return says(ctx, node, "ip -4 address show dev pair0 | grep -qF 'inet 203.0.115.1/24'") && k.pings(ctx)
	})
	k.answers(ctx)
}

// card is the name that the node gave an extra card.
func (k *links) card(ctx context.Context, number int) string {
	k.t.Helper()
	script := fmt.Sprintf("grep -l '^%s$' /sys/class/net/*/address | head -n 1 | cut -d / -f 5", network.CardMAC(number))
	name := in(ctx, k.t, k.lab, "sh", "-c", script)
	require.NotEmpty(k.t, name, "card %d", number)
	return name
}

// apply runs the verb, and returns what it prints.
func (k *links) apply(ctx context.Context, document string) (printed string, failure string) {
	k.t.Helper()
	command := machine.Command{Argv: []string{"/usr/local/bin/lca-cli", "network", "apply", "-"}, Stdin: strings.NewReader(document)}
	result, err := k.lab.Machine.Exec(ctx, command)
	require.NoError(k.t, err)
	if result.ExitCode != 0 {
		return result.Stdout, result.Stderr
	}
	return result.Stdout, ""
}

func (k *links) show(ctx context.Context, names ...string) string {
	k.t.Helper()
	return in(ctx, k.t, k.lab, append([]string{"/usr/local/bin/lca-cli", "network", "show"}, names...)...)
}

// stable is an interface without its MAC address, which a bond takes from one of its ports, or makes up.
func (k *links) stable(ctx context.Context, name string) string {
	k.t.Helper()
	var kept []string
	for line := range strings.Lines(k.show(ctx, name)) {
		if !strings.Contains(line, "mac-address:") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// configured applies a document, finds what it says of an interface, and applies it again for nothing.
func (k *links) configured(ctx context.Context, document, name string, shown ...string) {
	k.t.Helper()
	began := time.Now()
	printed, failure := k.apply(ctx, document)
	require.Empty(k.t, failure, "%s", document)
	require.NotEqual(k.t, "---\n{}\n", printed, "the document changes something: %s", document)
	state := k.show(ctx, name)
	for _, line := range append(shown, "state: up") {
		require.Contains(k.t, state, line, "of %s", document)
	}
	k.answers(ctx)
	again, failure := k.apply(ctx, document)
	require.Empty(k.t, failure)
	require.Equal(k.t, "---\n{}\n", again, "applied again, this changes nothing: %s", document)
	k.t.Logf("%s is configured after %s, and stays", name, time.Since(began).Round(time.Second))
}

// refused applies a document that the node has to roll back by itself, and finds the state of an interface as it was.
func (k *links) refused(ctx context.Context, document, name, because string) {
	k.t.Helper()
	before := k.stable(ctx, name)
	_, failure := k.apply(ctx, document)
	require.Contains(k.t, failure, because, "%s", document)
	require.Contains(k.t, failure, "the old network is back")
	require.Equal(k.t, before, k.stable(ctx, name))
	until(ctx, k.t, "the answer of the gateway", func() bool { return k.pings(ctx) })
	k.t.Logf("%s is rolled back: %s", name, because)
}

// answers says that the gateway of the default route answers the node.
func (k *links) answers(ctx context.Context) {
	k.t.Helper()
	require.Contains(k.t, in(ctx, k.t, k.lab, "ip", "-4", "route", "show", "default"), "via "+k.gateway.String())
	until(ctx, k.t, "the answer of the gateway", func() bool { return k.pings(ctx) })
}

func (k *links) pings(ctx context.Context) bool {
	return says(ctx, k.lab, "ping -n -c 1 -W 5 "+k.gateway.String())
}

// bond is an active-backup bond with the address of the second site.
func (k *links) bond(name, options string, ports ...string) string {
	return fmt.Sprintf(`
- name: %s
  type: bond
  state: up
  link-aggregation: {mode: active-backup, options: {miimon: 100%s}, port: [%s]}
  ipv4: {enabled: true, dhcp: false, address: [{ip: %s, prefix-length: 24}]}
  ipv6: {enabled: false}`, name, options, strings.Join(ports, ", "), away)
}

const storage = "ipv4: {enabled: true, dhcp: false, address: [{ip: 203.0.113.5, prefix-length: 24}]}, ipv6: {enabled: false}"

// stack builds a bond, a VLAN on it, a bridge on that, and beside it a VRF with a dummy.
func (k *links) stack(ctx context.Context) {
	k.t.Helper()
	k.configured(ctx, "interfaces:"+k.bond("bond0", "", k.a, k.b), "bond0", "type: bond", "- "+k.a, "- "+k.b, "ip: "+away.String())
	vlan := "{name: bond0.100, type: vlan, state: up, vlan: {base-iface: bond0, id: 100}, "
	k.configured(ctx, "interfaces: ["+vlan+storage+"}]", "bond0.100", "base-iface: bond0", "id: 100", "ip: 203.0.113.5")
	k.configured(ctx, "interfaces: [{name: d0, type: dummy, state: up, ipv4: {enabled: true, dhcp: false, address: [{ip: 203.0.114.1, prefix-length: 24}]}}]",
		"d0", "type: dummy", "ip: 203.0.114.1")
	k.configured(ctx, "interfaces: [{name: vrf0, type: vrf, state: up, vrf: {route-table-id: 100, port: [d0]}}]", "vrf0", "route-table-id: 100", "- d0")
	k.configured(ctx, "interfaces: ["+vlan+"ipv4: {enabled: false}, ipv6: {enabled: false}}, "+
		"{name: br-st, type: linux-bridge, state: up, bridge: {options: {stp: {enabled: false}}, port: [{name: bond0.100}]}, "+storage+"}]",
		"br-st", "type: linux-bridge", "name: bond0.100", "ip: 203.0.113.5")
}

// filters makes a bridge that filters VLANs over ends of two pairs: no loop, and no card is needed.
func (k *links) filters(ctx context.Context) {
	k.t.Helper()
	k.configured(ctx, `
interfaces:
- {name: fa0, type: veth, state: up, veth: {peer: fa1}, ipv4: {enabled: false}, ipv6: {enabled: false}}
- {name: fb0, type: veth, state: up, veth: {peer: fb1}, ipv4: {enabled: false}, ipv6: {enabled: false}}
- name: br-vlan
  type: linux-bridge
  state: up
  bridge:
    options: {stp: {enabled: false}}
    port:
    - {name: fa0, vlan: {mode: access, tag: 7}}
    - {name: fb0, vlan: {mode: trunk, trunk-tags: [{id: 9}, {id-range: {min: 20, max: 30}}]}}
  ipv4: {enabled: false}
  ipv6: {enabled: false}`, "br-vlan", "mode: access", "tag: 7", "mode: trunk", "max: 30")
}

// pairs makes a pair whose ends name each other.
func (k *links) pairs(ctx context.Context) {
	k.t.Helper()
	k.configured(ctx, `
interfaces:
- {name: pair0, type: veth, state: up, veth: {peer: pair1}, ipv4: {enabled: true, dhcp: false, address: [{ip: 203.0.115.1, prefix-length: 24}]}}
- {name: pair1, type: veth, state: up, veth: {peer: pair0}}`, "pair0", "peer: pair1", "ip: 203.0.115.1")
}

// primaries gives the bond a primary port, another one, and none.
func (k *links) primaries(ctx context.Context) {
	k.t.Helper()
	for _, card := range []string{k.a, k.b} {
		k.configured(ctx, "interfaces:"+k.bond("bond0", ", primary: "+card, k.a, k.b), "bond0", "primary: "+card)
	}
	k.configured(ctx, "interfaces:"+k.bond("bond0", ", primary: ''", k.a, k.b), "bond0")
	require.NotContains(k.t, k.show(ctx, "bond0"), "primary:")
}

// uplink gives the default route to the bond, and then changes what the node hangs on.
func (k *links) uplink(ctx context.Context) {
	k.t.Helper()
	home, there := k.gateway, network.Away().Gateway.Addr()
	k.gateway = there
	k.configured(ctx, "interfaces:"+k.bond("bond0", "", k.a, k.b)+k.defaultRoute("br-ex", home, "bond0", there), "bond0", "- "+k.b)
	k.configured(ctx, "interfaces:"+k.bond("bond0", "", k.a), "bond0", "- "+k.a)
	require.NotContains(k.t, k.show(ctx, "bond0"), "- "+k.b)
	k.refused(ctx, "interfaces:"+k.bond("bond0", ""), "bond0", "answered before the change and does not answer after it")

	gone := "\n- {name: bond0, type: bond, state: absent}"
	route := fmt.Sprintf("\nroutes: {config: [{destination: 0.0.0.0/0, next-hop-interface: bond1, next-hop-address: %s, metric: 40}]}", there)
	k.configured(ctx, "interfaces:"+gone+k.bond("bond1", "", k.a, k.b)+route, "bond1", "- "+k.a, "- "+k.b)
	require.False(k.t, says(ctx, k.lab, "ip link show dev bond0"), "the first bond is gone")
	require.NoError(k.t, k.lab.Net.Ping(ctx, away))

	unserved := "interfaces:\n- {name: bond1.300, type: vlan, state: up, vlan: {base-iface: bond1, id: 300}, " +
		"ipv4: {enabled: true, dhcp: false, address: [{ip: 203.0.116.5, prefix-length: 24}]}, ipv6: {enabled: false}}" +
		k.defaultRoute("bond1", there, "bond1.300", netip.MustParseAddr("203.0.116.1"))
	k.refused(ctx, unserved, "bond1", "answered before the change and does not answer after it")
	require.False(k.t, says(ctx, k.lab, "ip link show dev bond1.300"), "the VLAN that is not served is gone")
}

// defaultRoute moves the default route from one interface to another.
func (k *links) defaultRoute(from string, was netip.Addr, to string, now netip.Addr) string {
	return fmt.Sprintf(`
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-interface: %s, next-hop-address: %s, state: absent}
  - {destination: 0.0.0.0/0, next-hop-interface: %s, next-hop-address: %s, metric: 40}`, from, was, to, now)
}
