package plan

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/observe"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/schema"
)

// witness says how a supported key is verified after a change.
type witness string

const (
	kernel  witness = "kernel"  // observe reads it from the kernel
	vswitch witness = "switch"  // the Open vSwitch database says it
	applied witness = "applied" // NetworkManager's applied connection says it: observe.Complete
	stored  witness = "stored"  // the profile, the resolver or the node's own files say it
	order   witness = "order"   // it says how to find, to do or to judge something, and no state has it
)

// witnesses has one for each supported key without keys of its own. A new key needs a line here: what is supported and never
// verified makes every change wait in vain.
var witnesses = map[witness][]string{
	order: {
		"route-rules.config[].state", "routes.config[].state", "interfaces[].name", "interfaces[].identifier", "interfaces[].copy-mac-from",
		"interfaces[].ipv4.allow-extra-address", "interfaces[].ipv6.allow-extra-address", "interfaces[].link-aggregation.ports-config[].name",
		"ovn.bridge-mappings[].state",
	},
	stored: {
		"hostname.running", "hostname.config", "dns-resolver.config.server", "dns-resolver.config.search", "dns-resolver.config.options",
		"interfaces[].profile-name", "interfaces[].description", "interfaces[].ipv4.dhcp", "interfaces[].ipv6.dhcp", "interfaces[].ipv6.autoconf",
	},
	vswitch: {
		"ovs-db.external_ids", "ovs-db.other_config", "ovn.bridge-mappings[].localnet", "ovn.bridge-mappings[].bridge",
		"interfaces[].ovs-db.external_ids", "interfaces[].ovs-db.other_config", "interfaces[].patch.peer",
		"interfaces[].bridge.options.rstp", "interfaces[].bridge.options.mcast-snooping-enable", "interfaces[].bridge.options.fail-mode",
		"interfaces[].bridge.options.datapath", "interfaces[].bridge.port[].link-aggregation.mode",
		"interfaces[].bridge.port[].link-aggregation.port[].name", "interfaces[].bridge.port[].link-aggregation.bond-updelay",
		"interfaces[].bridge.port[].link-aggregation.bond-downdelay",
	},
	applied: {
		"interfaces[].wait-ip", "interfaces[].lldp.enabled", "interfaces[].accept-all-mac-addresses",
		"interfaces[].ethernet.auto-negotiation", "interfaces[].ethernet.speed", "interfaces[].ethernet.duplex", "interfaces[].mac-vlan.promiscuous",
		"interfaces[].ipv4.auto-dns", "interfaces[].ipv4.auto-gateway", "interfaces[].ipv4.auto-routes", "interfaces[].ipv4.auto-route-table-id",
		"interfaces[].ipv4.auto-route-metric", "interfaces[].ipv4.dhcp-client-id", "interfaces[].ipv4.dhcp-send-hostname",
		"interfaces[].ipv4.dhcp-custom-hostname",
		"interfaces[].ipv6.auto-dns", "interfaces[].ipv6.auto-gateway", "interfaces[].ipv6.auto-routes", "interfaces[].ipv6.auto-route-table-id",
		"interfaces[].ipv6.auto-route-metric", "interfaces[].ipv6.dhcp-duid", "interfaces[].ipv6.dhcp-send-hostname",
		"interfaces[].ipv6.dhcp-custom-hostname", "interfaces[].ipv6.addr-gen-mode", "interfaces[].ipv6.token",
		"interfaces[].link-aggregation.options", "interfaces[].link-aggregation.ports-config[].priority",
		"interfaces[].link-aggregation.ports-config[].queue-id",
		"interfaces[].bridge.options.group-addr", "interfaces[].bridge.options.group-forward-mask", "interfaces[].bridge.options.hash-max",
		"interfaces[].bridge.options.multicast-last-member-count", "interfaces[].bridge.options.multicast-last-member-interval",
		"interfaces[].bridge.options.multicast-membership-interval", "interfaces[].bridge.options.multicast-querier",
		"interfaces[].bridge.options.multicast-querier-interval", "interfaces[].bridge.options.multicast-query-interval",
		"interfaces[].bridge.options.multicast-query-response-interval", "interfaces[].bridge.options.multicast-query-use-ifaddr",
		"interfaces[].bridge.options.multicast-router", "interfaces[].bridge.options.multicast-snooping",
		"interfaces[].bridge.options.multicast-startup-query-count", "interfaces[].bridge.options.multicast-startup-query-interval",
		"interfaces[].bridge.options.vlan-protocol", "interfaces[].bridge.options.vlan-default-pvid",
	},
	kernel: {
		"route-rules.config[].family", "route-rules.config[].ip-from", "route-rules.config[].ip-to", "route-rules.config[].priority",
		"route-rules.config[].route-table", "route-rules.config[].fwmark", "route-rules.config[].fwmask", "route-rules.config[].iif",
		"route-rules.config[].action", "route-rules.config[].suppress-prefix-length",
		"routes.config[].destination", "routes.config[].next-hop-interface", "routes.config[].next-hop-address", "routes.config[].metric",
		"routes.config[].table-id", "routes.config[].weight", "routes.config[].route-type", "routes.config[].cwnd", "routes.config[].source",
		"interfaces[].state", "interfaces[].mac-address", "interfaces[].mtu", "interfaces[].controller",
		"interfaces[].ipv4.enabled", "interfaces[].ipv4.address[].ip", "interfaces[].ipv4.address[].prefix-length",
		"interfaces[].ipv6.enabled", "interfaces[].ipv6.address[].ip", "interfaces[].ipv6.address[].prefix-length",
		"interfaces[].veth.peer", "interfaces[].vlan.base-iface", "interfaces[].vlan.id", "interfaces[].vlan.protocol",
		"interfaces[].vlan.registration-protocol", "interfaces[].vlan.reorder-headers", "interfaces[].vlan.loose-binding",
		"interfaces[].link-aggregation.mode", "interfaces[].link-aggregation.port", "interfaces[].mac-vlan.base-iface", "interfaces[].mac-vlan.mode",
		"interfaces[].vrf.port", "interfaces[].vrf.route-table-id",
		"interfaces[].bridge.options.stp.enabled", "interfaces[].bridge.options.stp.forward-delay", "interfaces[].bridge.options.stp.hello-time",
		"interfaces[].bridge.options.stp.max-age", "interfaces[].bridge.options.stp.priority", "interfaces[].bridge.options.mac-ageing-time",
		"interfaces[].bridge.port[].name", "interfaces[].bridge.port[].stp-hairpin-mode", "interfaces[].bridge.port[].stp-path-cost",
		"interfaces[].bridge.port[].stp-priority", "interfaces[].bridge.port[].vlan.mode", "interfaces[].bridge.port[].vlan.tag",
		"interfaces[].bridge.port[].vlan.enable-native", "interfaces[].bridge.port[].vlan.trunk-tags[].id",
		"interfaces[].bridge.port[].vlan.trunk-tags[].id-range.min", "interfaces[].bridge.port[].vlan.trunk-tags[].id-range.max",
	},
}

// TestEverySupportedKeyHasAWitness: there is no key that is applied and never verified. What has no witness is refused by name:
// it is "not supported" in the table.
func TestEverySupportedKeyHasAWitness(t *testing.T) {
	of := map[string]witness{}
	for w, keys := range witnesses {
		for _, k := range keys {
			require.NotContains(t, of, k, "has two witnesses")
			of[k] = w
		}
	}
	for _, k := range leaves() {
		if k.Support == schema.Full {
			require.Contains(t, of, k.Path, "a supported key that nothing verifies; let observe report it, or observe.Complete, or refuse it")
		}
		delete(of, k.Path)
	}
	require.Empty(t, of, "keys that no document has")
}

// TestTheAppliedConnectionSaysWhatWasAskedFor: of each key whose witness is the applied connection, the connection that a plan
// makes tells the value back.
func TestTheAppliedConnectionSaysWhatWasAskedFor(t *testing.T) {
	documents := splitDocuments(t)
	for _, key := range witnesses[applied] {
		t.Run(key, func(t *testing.T) {
			path, found := strings.Split(key, "."), false
			for _, d := range documents {
				if _, has := without(d, path); !has {
					continue
				}
				found = true
				text := must(yaml.Marshal(d))
				now, snap := effectNode()
				want := must(Resolve(must(netstate.Decode(text)), now))
				p := must(New(want, now, snap, false))
				told := tell(want, p)
				for _, m := range netstate.Compare(want, told) {
					require.False(t, strings.HasSuffix(m.Path, strings.TrimPrefix(key, "interfaces[].")), m.Sentence)
				}
				i, _ := told.Find(want.Interfaces[0].Name, "")
				_, says := without(decoded(t, netstate.Document{Interfaces: []netstate.Interface{i}}), path)
				require.True(t, says, "the applied connection does not tell")
			}
			require.True(t, found, "testdata/keys.yaml has no document with the key")
		})
	}
}

// tell describes the interfaces of a document by the connections of a plan alone.
func tell(want netstate.Document, p *Plan) netstate.Document {
	connections := map[string]profile.Settings{}
	for _, c := range p.Changes {
		connections[c.Iface] = c.After
	}
	var out netstate.Document
	for _, w := range want.Interfaces {
		i := netstate.Interface{Name: w.Name, Type: w.Type, State: netstate.StateUp}
		if w.MACVLAN != nil {
			i.MACVLAN = &netstate.MACVLAN{}
		}
		if w.Bridge != nil {
			i.Bridge = &netstate.Bridge{Options: &netstate.BridgeOptions{}}
		}
		for _, ip := range []struct{ from, to **netstate.IP }{{&w.IPv4, &i.IPv4}, {&w.IPv6, &i.IPv6}} {
			if *ip.from != nil {
				*ip.to = &netstate.IP{Enabled: (*ip.from).Enabled, DHCP: (*ip.from).DHCP}
			}
		}
		if w.Bond != nil {
			i.Bond = &netstate.Bond{Mode: w.Bond.Mode, Ports: w.Bond.Ports}
			for _, port := range w.Bond.Ports {
				i.Bond.PortsConfig = append(i.Bond.PortsConfig, observe.Member(port, connections[port]))
			}
		}
		if s, ok := connections[w.Name]; ok {
			observe.Complete(&i, s)
		}
		out.Interfaces = append(out.Interfaces, i)
	}
	return out
}

func decoded(t *testing.T, d netstate.Document) any {
	t.Helper()
	var out any
	require.NoError(t, yaml.Unmarshal(must(d.Encode()), &out))
	return out
}
