package nm_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Parts of the documents below: a card without anything else, with addresses, and what is made on it.
func onCard(text string) string {
	return "interfaces: [{name: card0, type: ethernet, state: up, " + text + "}]"
}

const (
	card4 = "ipv4: {enabled: true, dhcp: false, address: [{ip: 203.0.113.5, prefix-length: 24}]}"
	card6 = "ipv6: {enabled: true, dhcp: false, address: [{ip: '2001:db8:5::5', prefix-length: 64}]}"
)

func onBridge(options string) string {
	return "interfaces: [{name: br0, type: linux-bridge, state: up, bridge: {options: {" + options + "}, port: [{name: card0}]}}]"
}

func macVLAN(text string) string {
	return "interfaces: [{name: mv0, type: mac-vlan, state: up, mac-vlan: {base-iface: card0, " + text + "}}]"
}

func vxlan(text string) string {
	return "interfaces: [{name: vx0, type: vxlan, state: up, vxlan: {" + text + "}}]"
}

func routed(text string) string {
	return onCard(card4) + "\nroutes: {config: [{next-hop-interface: card0, next-hop-address: 203.0.113.1, destination: 198.18.0.0/24, " + text + "}]}"
}

func ruled(text string) string {
	return onCard(card4) + "\nroute-rules: {config: [{family: ipv4, priority: 900, " + text + "}]}"
}

// supported are documents of supported keys in kinds of interfaces that every kernel has, each in a value that is not the default.
var supported = map[string]string{
	"accept-all-mac-addresses": onCard("accept-all-mac-addresses: true"),
	"accept none":              onCard("accept-all-mac-addresses: false"),
	"description":              onCard("description: hello"),
	"profile-name":             onCard("profile-name: of-my-own"),
	"mtu":                      onCard("mtu: 1400"),
	"mac-address":              onCard("mac-address: '02:11:22:33:44:55'"),
	"wait-ip any":              onCard(card4 + ", wait-ip: any"),
	"wait-ip ipv4":             onCard(card4 + ", wait-ip: ipv4"),
	"wait-ip both":             onCard(card4 + ", " + card6 + ", wait-ip: ipv4+ipv6"),
	"lldp":                     onCard("lldp: {enabled: true}"),
	"lldp off":                 onCard("lldp: {enabled: false}"),
	"mptcp":                    onCard(card4 + ", mptcp: {address-flags: [backup, subflow]}"),
	"mptcp mesh":               onCard(card4 + ", mptcp: {address-flags: [fullmesh]}"),
	"mptcp off":                onCard(card4 + ", mptcp: {address-flags: []}"),
	"ethernet":                 onCard("ethernet: {auto-negotiation: false, speed: 10000, duplex: full}"),
	"features":                 onCard("ethtool: {feature: {tx-checksum-ip-generic: false, gro: true, tx-tcp-segmentation: false}}"),
	"no extra address":         onCard("ipv4: {enabled: true, dhcp: false, address: [{ip: 203.0.113.5, prefix-length: 24}], allow-extra-address: false}"),
	"addr-gen-mode":            onCard("ipv4: {enabled: false}, " + strings.Replace(card6, "{", "{addr-gen-mode: stable-privacy, ", 1)),
	"addr-gen-mode eui64":      onCard("ipv4: {enabled: false}, " + strings.Replace(card6, "{", "{addr-gen-mode: eui64, ", 1)),

	"leased":               onCard("ipv4: {enabled: true, dhcp: true, auto-dns: false, auto-gateway: false, auto-routes: false, auto-route-table-id: 100, auto-route-metric: 77}"),
	"fixed beside a lease": onCard("ipv4: {enabled: true, dhcp: true, address: [{ip: 198.51.100.5, prefix-length: 24}]}"),
	"loopback": "interfaces: [{name: lo, type: loopback, state: up, mtu: 16384, ipv4: {enabled: true, address: [{ip: 198.51.100.7, prefix-length: 32}]}, " +
		"ipv6: {enabled: true, address: [{ip: '2001:db8:7::7', prefix-length: 128}]}}]",
	"client-id":       onCard("ipv4: {enabled: true, dhcp: true, dhcp-client-id: ll, dhcp-send-hostname: false}"),
	"client-id bytes": onCard("ipv4: {enabled: true, dhcp: true, dhcp-client-id: '01:aa:bb:cc:dd:ee:ff'}"),
	"client-id duid":  onCard("ipv4: {enabled: true, dhcp: true, dhcp-client-id: iaid+duid, dhcp-custom-hostname: foo.example.org}"),
	"duid":            onCard(card4 + ", ipv6: {enabled: true, dhcp: true, autoconf: true, dhcp-duid: llt, dhcp-send-hostname: false, dhcp-custom-hostname: foo}"),
	"duid uuid":       onCard(card4 + ", ipv6: {enabled: true, dhcp: true, autoconf: false, dhcp-duid: uuid}"),
	"advertised":      onCard(card4 + ", ipv6: {enabled: true, dhcp: true, autoconf: true, auto-dns: false, auto-gateway: false, auto-routes: false, auto-route-table-id: 100, auto-route-metric: 77}"),
	"token alone":     onCard(card4 + ", ipv6: {enabled: true, dhcp: true, autoconf: true, token: '::0fac:0002'}"),
	"hop of its own":  onCard(card4) + "\nroutes: {config: [{destination: 198.18.0.0/24, next-hop-interface: card0, next-hop-address: 203.0.113.5}]}",
	"end of a /30":    onCard("ipv4: {enabled: true, address: [{ip: 203.0.113.8, prefix-length: 30}]}"),
	"blackhole of 0":  onCard(card4) + "\nroutes: {config: [{destination: 0.0.0.0/8, route-type: blackhole}]}",
	"token":           onCard(card4 + ", ipv6: {enabled: true, dhcp: true, autoconf: true, addr-gen-mode: eui64, token: '::0fac:0001'}"),

	"mac-vlan": macVLAN("mode: bridge"), "vepa": macVLAN("mode: vepa"), "private": macVLAN("mode: private"),
	"passthru":    macVLAN("mode: passthru"),
	"promiscuous": macVLAN("mode: bridge, promiscuous: true"), "not promiscuous": macVLAN("mode: passthru, promiscuous: false"),
	"mac-vtap":       "interfaces: [{name: vt0, type: mac-vtap, state: up, mac-vtap: {base-iface: card0, mode: bridge}}]",
	"mac-vtap alone": "interfaces: [{name: vt0, type: mac-vtap, state: up, mac-vtap: {base-iface: card0, mode: passthru, promiscuous: false}}]",
	"vxlan":          vxlan("id: 100, remote: 203.0.113.9"),
	"vxlan alone":    vxlan("id: 7"),
	"vxlan port":     vxlan("id: 100, remote: 203.0.113.9, destination-port: 4789, learning: false"),
	"vxlan on base":  "interfaces:\n- {name: card0, type: ethernet, state: up, " + card4 + "}\n- {name: vx0, type: vxlan, state: up, mtu: 1400, vxlan: {base-iface: card0, id: 16777215, remote: 239.1.1.1, local: 203.0.113.5}}",
	"vxlan in IPv6":  vxlan("id: 5, remote: '2001:db8::9', local: '2001:db8::5'"),
	"veth":           "interfaces: [{name: va, type: veth, state: up, veth: {peer: vb}}]",
	"copy-mac-from":  "interfaces: [{name: br0, type: linux-bridge, state: up, copy-mac-from: card0, bridge: {port: [{name: card0}]}}]",
	"controller":     "interfaces: [{name: br0, type: linux-bridge, state: up}, {name: card0, type: ethernet, state: up, controller: br0}]",

	"stp":                onBridge("stp: {enabled: true, forward-delay: 10, hello-time: 3, max-age: 15, priority: 4096}"),
	"group-addr":         onBridge("group-addr: '01:80:c2:00:00:0e'"),
	"group-forward-mask": onBridge("group-forward-mask: 8"), "group-fwd-mask": onBridge("group-fwd-mask: 8"),
	"hash-max": onBridge("hash-max: 8192"), "mac-ageing-time": onBridge("mac-ageing-time: 100"),
	"ports of a bridge": "interfaces: [{name: br0, type: linux-bridge, state: up, bridge: {port: [{name: card0, stp-hairpin-mode: true, stp-path-cost: 50, stp-priority: 10}]}}]",

	"metric": routed("metric: 150"), "table-id": routed("table-id: 200"), "weight": routed("weight: 10, metric: 1"),
	"cwnd": routed("cwnd: 20"), "source": routed("source: 203.0.113.5"),
	"blackhole":   onCard(card4) + "\nroutes: {config: [{destination: 198.18.0.0/24, route-type: blackhole}]}",
	"unreachable": onCard(card4) + "\nroutes: {config: [{destination: 198.18.0.0/24, route-type: unreachable}]}",
	"prohibit":    onCard(card6) + "\nroutes: {config: [{destination: '2001:db8:f::/64', route-type: prohibit}]}",

	"rule from": ruled("ip-from: 198.51.100.0/24, route-table: 200"), "rule to": ruled("ip-to: 198.51.100.0/24, route-table: 200"),
	"rule fwmark": ruled("fwmark: '0x20', fwmask: '0x30', route-table: 200"), "rule iif": ruled("iif: card0, route-table: 200"),
	"rule blackhole": ruled("ip-from: 198.51.100.0/24, action: blackhole"), "rule unreachable": ruled("ip-from: 198.51.100.0/24, action: unreachable"),
	"rule prohibit": ruled("ip-from: 198.51.100.0/24, action: prohibit"),
	"rule suppress": ruled("ip-from: 198.51.100.0/24, route-table: 254, suppress-prefix-length: 0"),
	"rule family":   ruled("route-table: 200"),
	"rule local":    ruled("route-table: 255"),
	"rule alone":    "route-rules: {config: [{family: ipv4, priority: 902, route-table: 255}, {family: ipv6, priority: 903, route-table: 255}]}",
	"rule IPv6":     onCard(card6) + "\nroute-rules: {config: [{ip-from: '2001:db8:f::/64', priority: 901, action: blackhole}]}",
	"dns":           "dns-resolver: {config: {server: [192.0.2.60], search: [a.example.org], options: [rotate, 'timeout:3']}}",
	"dns of a link": onCard(card6) + "\ndns-resolver: {config: {server: ['fe80::53%card0', '2001:db8::60', 192.0.2.60]}}",
}

// multicastOptions are those of bridges that a kernel may be built without.
var multicastOptions = map[string]string{
	"last-member-count": "3", "last-member-interval": "200", "membership-interval": "27000", "querier": "true", "querier-interval": "25000",
	"query-interval": "12000", "query-response-interval": "900", "query-use-ifaddr": "true", "router": "enabled", "snooping": "false",
	"startup-query-count": "3", "startup-query-interval": "3000",
}

func encoded(t *testing.T, d netstate.Document) string {
	t.Helper()
	text, err := d.Encode()
	require.NoError(t, err)
	return string(text)
}

// bare is the card without anything else.
const bare = `interfaces:
- {name: br0, state: absent}
- {name: mv0, state: absent}
- {name: va, state: absent}
- {name: vt0, state: absent}
- {name: vx0, state: absent}
- {name: card0, type: ethernet, state: up, controller: '', ipv4: {enabled: false}, ipv6: {enabled: false}}
routes: {config: [{state: absent, next-hop-interface: card0}]}
`

// TestSupportedKeysAreInForce: a supported key is applied, observed, in place the second time, and removed again, one by one.
func TestSupportedKeysAreInForce(t *testing.T) {
	documents := maps.Clone(supported)
	for key, value := range multicastOptions {
		documents["multicast-"+key] = onBridge(fmt.Sprintf("multicast-%s: %s", key, value))
	}
	n := newNode(t)
	n.cards("card0")
	n.Peer("addr", "add", "203.0.113.1/24", "dev", "card0p")
	n.ServeDHCP([]string{"card0"}, []string{"203.0.113.100,203.0.113.120,255.255.255.0"})
	n.apply(onCard("ipv4: {enabled: false}, ipv6: {enabled: false}"))
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		t.Run(name, func(t *testing.T) {
			n.t = t
			t.Cleanup(func() {
				if t.Failed() { // the next key starts from the same
					_ = n.network().Apply(timeout(t), document(t, bare), nil)
				}
			})
			doc := document(t, documents[name])
			before, err := n.network().Observe(timeout(t))
			require.NoError(t, err)
			began := time.Now()
			require.NoError(t, n.network().Apply(timeout(t), doc, nil))
			t.Log("applied in", time.Since(began))
			plan, err := n.network().Plan(timeout(t), doc)
			require.NoError(t, err)
			require.Empty(t, plan, "it is in place: %+v", plan)
			got, err := n.network().Observe(timeout(t))
			require.NoError(t, err)
			require.Empty(t, netstate.Verify(doc, got))
			require.Equal(t, "{}\n", encoded(t, netstate.Diff(got, doc)), "nothing is left to change")
			n.shown() // and the thorough observation agrees

			back := netstate.Revert(doc, before)
			require.NoError(t, n.network().Apply(timeout(t), back, nil))
			got, err = n.network().Observe(timeout(t))
			require.NoError(t, err)
			require.Empty(t, netstate.Verify(back, got))
			require.Equal(t, "{}\n", encoded(t, netstate.Diff(got, back)))
		})
	}
}

// TestARevertedKeyIsAsItWas: what a document changes on an interface that is configured already is as before when it is reverted, also
// where the interface was silent on the key.
func TestARevertedKeyIsAsItWas(t *testing.T) {
	leased := onCard("ipv4: {enabled: true, dhcp: true}, ipv6: {enabled: true, dhcp: true, autoconf: true}")
	bridge := onBridge("mac-ageing-time: 300")
	n := newNode(t)
	n.cards("card0")
	n.Peer("addr", "add", "203.0.113.1/24", "dev", "card0p")
	n.ServeDHCP([]string{"card0"}, []string{"203.0.113.100,203.0.113.120,255.255.255.0"})
	for _, c := range []struct{ name, base, change string }{
		{"auto", leased, onCard("ipv4: {enabled: true, dhcp: true, auto-dns: false, auto-gateway: false, auto-routes: false, auto-route-table-id: 100, auto-route-metric: 77}")},
		{"auto of IPv6", leased, onCard("ipv6: {enabled: true, dhcp: true, autoconf: true, auto-dns: false, auto-gateway: false, auto-routes: false, auto-route-metric: 77}")},
		{"identity", leased, onCard("ipv4: {enabled: true, dhcp: true, dhcp-client-id: ll, dhcp-send-hostname: false, dhcp-custom-hostname: a.example}")},
		{"identity of IPv6", leased, onCard("ipv6: {enabled: true, dhcp: true, autoconf: true, dhcp-duid: llt, addr-gen-mode: eui64, token: '::7'}")},
		{"wait-ip", leased, onCard("wait-ip: ipv4")},
		{"mptcp", leased, onCard("mptcp: {address-flags: [signal]}")},
		{"mptcp off", leased, onCard("mptcp: {address-flags: []}")},
		{"lldp", leased, onCard("lldp: {enabled: true}")},
		{"promiscuous", leased, onCard("accept-all-mac-addresses: true")},
		{"features", leased, onCard("ethtool: {feature: {rx-gro: true, tx-checksum-ip-generic: false}}")},
		{"static", leased, onCard(card4 + ", " + card6)},
		{"off", leased, onCard("ipv4: {enabled: false}, ipv6: {enabled: false}")},
		{"mtu", leased, onCard("mtu: 1400, description: x, profile-name: other")},
		{"stp", bridge, onBridge("stp: {enabled: true, forward-delay: 10}, group-forward-mask: 8, mac-ageing-time: 100")},
		{"bridge port", bridge, "interfaces: [{name: br0, type: linux-bridge, bridge: {port: [{name: card0, stp-hairpin-mode: true, stp-path-cost: 50}]}}]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n.t = t
			require.NoError(t, n.network().Apply(timeout(t), document(t, bare), nil))
			require.NoError(t, n.network().Apply(timeout(t), document(t, c.base), nil))
			before, err := n.network().Observe(timeout(t))
			require.NoError(t, err)
			change := document(t, c.change)
			require.NoError(t, n.network().Apply(timeout(t), change, nil))
			require.NoError(t, n.network().Apply(timeout(t), netstate.Revert(change, before), nil))
			after, err := n.network().Observe(timeout(t))
			require.NoError(t, err)
			require.Equal(t, "{}\n", encoded(t, netstate.Diff(after, withoutLeases(before))), "the node is as it was")
			require.Equal(t, "{}\n", encoded(t, netstate.Diff(before, withoutLeases(after))), "and has nothing else")
		})
	}
}

// withoutLeases leaves out addresses that come and go with a lease, and what follows from them.
func withoutLeases(d netstate.Document) netstate.Document {
	d.Routes, d.DNS, d.Hostname = nil, nil, nil
	d.Interfaces = slices.Clone(d.Interfaces)
	for k, i := range d.Interfaces {
		for _, ip := range []**netstate.IP{&i.IPv4, &i.IPv6} {
			if (*ip).Auto() {
				copied := **ip
				copied.Addresses = nil
				*ip = &copied
			}
		}
		d.Interfaces[k] = i
	}
	return d
}

// TestAKeyThatTheLinkDoesNotFollow is rolled back as soon as that is known, and says which it is.
func TestAKeyThatTheLinkDoesNotFollow(t *testing.T) {
	n := newNode(t)
	n.cards("card0")
	before := n.shown()
	err := n.network().Apply(timeout(t), document(t, onCard("ethernet: {auto-negotiation: true}")), nil)
	require.ErrorContains(t, err, "interface card0 has ethernet.auto-negotiation false, not true: NetworkManager has activated the interface")
	require.ErrorContains(t, err, "the old network is back")
	n.Until("the state before is back", func() bool { return n.shown() == before })
}

// TestWhatCannotBeIsRefused: nothing is changed, and nothing waits.
func TestWhatCannotBeIsRefused(t *testing.T) {
	n := newNode(t)
	n.cards("card0")
	n.apply(onBridge("mac-ageing-time: 300"))
	for doc, reason := range map[string]string{
		"dns-resolver: {config: {server: ['fe80::53%card0']}}":                               "interface card0, which link-local servers are on, has IPv6 disabled",
		"dns-resolver: {config: {server: ['fe80::53%card0', 'fe80::53%uplink0']}}":           "link-local servers on card0 and on uplink0",
		"dns-resolver: {config: {server: ['fe80::53%uplink0', 192.0.2.53, '2001:db8::53']}}": "is link-local, and servers that mix the families",
		onBridge("vlan-default-pvid: 5"):                                                     "bridge.options.vlan-default-pvid: the bridge filters no VLANs",
		onCard(card4):                                                                        "it is a port, and a port has no addresses",
		macVLAN("mode: source"):                                                              `"source" is none of vepa, bridge, private, passthru`,
		onCard("ethtool: {ring: {rx: 512}}"):                                                 "ethtool.ring.rx: its driver does not support this setting of ring; leave it out",
		onCard("ethtool: {pause: {rx: true}}"):                                               "ethtool.pause.rx: its driver does not support",
		onCard("ethtool: {coalesce: {adaptive-rx: true}}"):                                   "ethtool.coalesce.adaptive-rx: its driver does not support",
		onCard("ethtool: {feature: {macsec-hw-offload: true}}"):                              "ethtool.feature.macsec-hw-offload: its driver has no such feature",
		onCard("ethtool: {feature: {warp: true}}"):                                           "ethtool.feature.warp: is no feature that NetworkManager sets",
		onCard("ethtool: {feature: {gro: true, rx-gro: true}}"):                              "ethtool.feature.rx-gro: is the same feature as gro",
		routed("table-id: 255"):                                                              "the kernel's own table",
		"interfaces: [{name: mv0, type: mac-vlan, state: up, mtu: 9000, mac-vlan: {base-iface: uplink0, mode: bridge}}]": "interface mv0: MTU 9000 is more than the 1500 of uplink0, which it stands on",
	} {
		require.ErrorContains(t, n.network().Apply(timeout(t), document(t, doc), nil), reason)
	}
	n.settled()
}

// TestWhatIsShownIsInPlace: the observed state, with all keys that it has, is a document that changes nothing.
func TestWhatIsShownIsInPlace(t *testing.T) {
	n := newNode(t)
	n.cards("card0", "card1")
	n.Peer("addr", "add", "203.0.113.1/24", "dev", "card0p")
	n.ServeDHCP([]string{"card0"}, []string{"203.0.113.100,203.0.113.120,255.255.255.0"})
	n.apply(onCard("ipv4: {enabled: true, dhcp: true, auto-gateway: false}"))
	n.Until("the card has a lease", func() bool { return len(n.find("card0", "").IPv4.Addresses) > 0 })
	n.apply("interfaces: [{name: br0, type: linux-bridge, state: up, bridge: {port: [{name: card1}]}}]\n" +
		"route-rules: {config: [{family: ipv4, ip-from: 198.51.100.0/24, priority: 902, action: prohibit}]}")
	n.apply(macVLAN("mode: bridge"))
	got, err := n.network().Observe(timeout(t))
	require.NoError(t, err)
	got.Routes.Running, got.DNS.Running, got.Hostname = nil, nil, nil
	shown := encoded(t, got)
	for _, key := range []string{"lldp:", "accept-all-mac-addresses:", "auto-gateway: false", "wait-ip:", "multicast-router:", "promiscuous: true"} {
		require.Contains(t, shown, key)
	}
	n.inPlace(shown)
	before := len(n.Log())
	n.apply(shown)
	require.NotContains(t, n.Log()[before:], `op="checkpoint-create"`, "no link is touched")
}
