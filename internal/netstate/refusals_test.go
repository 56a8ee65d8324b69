package netstate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRefusalsOfKinds(t *testing.T) {
	iface := func(kind, rest string) string { return "interfaces: [{name: x, type: " + kind + ", " + rest + "}]" }
	bond := func(rest string) string { return iface("bond", "link-aggregation: {"+rest+"}") }
	bridge := func(rest string) string { return iface("linux-bridge", "bridge: {"+rest+"}") }
	port := func(rest string) string { return bridge("port: [{name: p, vlan: {" + rest + "}}]") }
	ovs := func(rest string) string { return iface("ovs-bridge", "bridge: {"+rest+"}") }
	v6 := func(rest string) string { return iface("ethernet", "ipv6: {enabled: true, "+rest+"}") }
	rule := func(rest string) string { return "route-rules: {config: [{" + rest + "}]}" }
	route := func(rest string) string { return "routes: {config: [{destination: 198.51.100.0/24, " + rest + "}]}" }
	for text, want := range map[string]string{
		iface("ipvlan", "mtu: 1500"):                                                   `interfaces[x].type: "ipvlan" is not a type that can be configured`,
		"interfaces: [{name: all, type: dummy}]":                                       "reserved by the kernel",
		iface("ethernet", "identifier: serial"):                                        `interfaces[x].identifier: "serial" is none of name, mac-address`,
		iface("ethernet", "identifier: mac-address"):                                   "interfaces[x].mac-address: is missing",
		iface("ethernet", "mac-address: '01:00:00:00:00:01'"):                          "is a group address",
		iface("ethernet", "wait-ip: both"):                                             `interfaces[x].wait-ip: "both" is none of any, ipv4, ipv6, ipv4+ipv6`,
		iface("ethernet", "copy-mac-from: y"):                                          "interfaces[x].copy-mac-from: does not belong to type ethernet, but to bond",
		iface("bond", "copy-mac-from: y, mac-address: '2:0:0:0:0:1'"):                  "interfaces[x].mac-address",
		iface("bond", "copy-mac-from: y, mac-address: '02:00:00:00:00:01'"):            "excludes mac-address",
		iface("ethernet", "mtu: 9000, max-mtu: 1500"):                                  "MTU 9000 is outside 0-1500, which the interface can do",
		iface("vxlan", "vxlan: {id: 16777216}"):                                        "interfaces[x].vxlan.id: 16777216 is outside 1-16777215",
		iface("vxlan", "vxlan: {remote: host}"):                                        `interfaces[x].vxlan.remote: "host" is not an IP address`,
		iface("vxlan", "vxlan: {id: 1, remote: 239.1.1.1}"):                            "a multicast group as remote needs base-iface",
		iface("vxlan", "vxlan: {id: 1, remote: 192.0.2.1, local: '::1'}"):              "remote and local are of two families",
		iface("macsec", "macsec: {mka-cak: secret, mka-ckn: ab}"):                      "interfaces[x].macsec.mka-cak: is a key of 32 hexadecimal digits",
		iface("macsec", "macsec: {mka-ckn: abc}"):                                      "mka-cak and mka-ckn are given together",
		iface("macsec", "macsec: {mka-cak: <_password_hid_by_nmstate>, mka-ckn: abc}"): `interfaces[x].macsec.mka-ckn: "abc" is not an even number of hexadecimal digits`,
		iface("ethernet", "802.1x: {identity: x}"):                                     "interfaces[x].802.1x.eap-methods: is missing",
		iface("ethernet", "802.1x: {identity: x, eap-methods: [magic]}"):               `interfaces[x].802.1x.eap-methods: "magic" is none of leap, md5, tls`,
		iface("ethernet", "802.1x: {identity: x, eap-methods: [tls]}"):                 "eap method tls needs private-key and client-cert",
		iface("ethernet", "802.1x: {identity: x, eap-methods: [peap]}"):                "interfaces[x].802.1x: password is missing",
		iface("ethernet", "802.1x: {eap-methods: [md5], password: y}"):                 "interfaces[x].802.1x: identity is missing",
		iface("ethernet", "802.1x: {identity: x, eap-methods: [md5], ca-cert: ca}"):    `interfaces[x].802.1x.ca-cert: "ca" is not the path of a file on the node`,
		iface("vxlan", "vxlan: {id: 1}, 802.1x: {identity: x}"):                        "interfaces[x].802.1x: does not belong to type vxlan",
		iface("ethernet", "mptcp: {address-flags: [loud]}"):                            `interfaces[x].mptcp.address-flags: "loud" is none of signal, subflow, backup, fullmesh, default`,
		iface("ethernet", "mptcp: {address-flags: [signal, fullmesh]}"):                "signal and fullmesh exclude one another",
		iface("ethernet", "mptcp: {address-flags: [default, backup]}"):                 "default excludes other flags",
		iface("ipsec", "libreswan: {right: 192.0.2.1}"):                                `interfaces[x].type: "ipsec" is not a type that can be configured: libreswan keeps its tunnels itself`,
		iface("hsr", "hsr: {port1: a}"):                                                "use a bond",
		iface("infiniband", "infiniband: {mode: datagram}"):                            "interfaces[x].infiniband: no such card was there",
		iface("ethernet", "dispatch: {post-activation: x}"):                            "interfaces[x].dispatch: is a program that runs as root",
		iface("macsec", "macsec: {port: 65535}"):                                       "interfaces[x].macsec.port: 65535 is outside 0-65534",
		iface("mac-vtap", "mac-vtap: {mode: vepa, promiscuous: false}"):                "mac-vtap.promiscuous: can be switched off in mode passthru only",
		iface("ethernet", "ethtool: {fec: {auto: true}}"):                              "interfaces[x].ethtool.fec: is part of nmstate, and this product does not support it",
		iface("ethernet", "ethtool: {ring: {rx: -1}}"):                                 "interfaces[x].ethtool.ring.rx: -1 is negative",
		iface("ethernet", "ethtool: {feature: {rx: on, rx-checksumming: on}}"):         "interfaces[x].ethtool.feature.rx-checksumming: is the same feature as rx",
		iface("ethernet", "ethtool: {feature: {lightspeed: true}}"):                    "interfaces[x].ethtool.feature.lightspeed: is no feature that NetworkManager sets",
		iface("ethernet", "alt-names: [{name: a}]"):                                    "interfaces[x].alt-names: is part of nmstate",
		iface("ethernet", "ethernet: {sr-iov: {total-vfs: 4}}"):                        "use the SR-IOV operator",
		iface("ethernet", "ethernet: {duplex: both}"):                                  "interfaces[x].ethernet.duplex",
		iface("ethernet", "ethernet: {auto-negotiation: false, speed: 100}"):           "speed and duplex are needed both",
		iface("veth", "veth: {peer: x}"):                                               "interfaces[x].veth.peer: a pair needs two names",
		iface("dummy", "vrf: {port: []}"):                                              "vrf: does not belong to type dummy",
		iface("vlan", "vlan: {id: 1, protocol: 802.1x}"):                               `interfaces[x].vlan.protocol: "802.1x" is none of 802.1q, 802.1ad`,
		iface("vlan", "vlan: {id: 1, registration-protocol: x}"):                       "interfaces[x].vlan.registration-protocol",
		iface("vlan", "vlan: {id: 1, base-iface: a/b}"):                                `interfaces[x].vlan.base-iface: base interface name "a/b"`,
		iface("mac-vlan", "mac-vlan: {mode: x}"):                                       "interfaces[x].mac-vlan.mode",
		iface("mac-vlan", "mac-vlan: {base-iface: x, mode: vepa}"):                     "cannot be its own base",
		iface("mac-vlan", "mac-vlan: {mode: vepa, promiscuous: false}"):                "in mode passthru only",
		iface("vrf", "vrf: {route-table-id: -1}"):                                      "route-table-id: -1 is outside 0-4294967295",

		"interfaces: [{name: lo, type: dummy}]":                                       "interfaces[lo].type: the interface lo is of type loopback",
		iface("loopback", "mtu: 1500"):                                                "interfaces[x].name: the only interface of type loopback is lo",
		"interfaces: [{name: lo, state: down}]":                                       "interfaces[lo].state: the loopback interface cannot be down",
		"interfaces: [{name: lo, controller: br0}]":                                   "interfaces[lo].controller: the loopback interface cannot be a port",
		"interfaces: [{name: lo, mac-address: '02:00:00:00:00:01'}]":                  "interfaces[lo].mac-address: the loopback interface has no MAC address",
		"interfaces: [{name: lo, ipv6: {enabled: false}}]":                            "interfaces[lo].ipv6: the kernel needs IPv6 on the loopback interface",
		"interfaces: [{name: lo, type: loopback, ipv4: {enabled: true, dhcp: true}}]": "interfaces[lo].ipv4: no network gives the loopback interface",

		bond("mode: best"):             `interfaces[x].link-aggregation.mode: "best" is none of balance-rr`,
		bond("options: {colour: red}"): "interfaces[x].link-aggregation.options.colour: is not an option of a bond",
		bond("options: {miimon: 100, arp_interval: 50, arp_ip_target: 192.0.2.1}"):           "miimon and arp_interval exclude each other",
		bond("options: {arp_interval: 50}"):                                                  "arp_interval needs arp_ip_target",
		bond("options: {arp_interval: 50, arp_ip_target: 192.0.2.1, updelay: 5}"):            "updelay and downdelay need miimon",
		bond("options: {miimon: often}"):                                                     `interfaces[x].link-aggregation.options.miimon: "often" is not a number`,
		bond("options: {lacp_rate: 7}"):                                                      `"7" is none of slow, fast`,
		bond("mode: active-backup, options: {lacp_rate: fast}"):                              "has an effect in mode 802.3ad only, not in active-backup",
		bond("port: [a, a]"):                                                                 `interfaces[x]: port "a" is listed twice`,
		bond("port: [x]"):                                                                    "it cannot be its own port",
		bond("port: [a, b], ports-config: [{name: c}]"):                                      `"c" is not a port of the bond`,
		bond("port: [a, b], ports-config: [{name: a, queue-id: 2}, {name: b, queue-id: 2}]"): `queue-id 2 of "b" is that of "a" already`,
		iface("bond", "mac-address: '02:00:00:00:00:01', link-aggregation: {mode: active-backup, options: {fail_over_mac: 1}}"): "takes the MAC address of its active port",

		port("mode: trunk"): "interfaces[x].bridge.port[p].vlan: mode trunk needs trunk-tags",
		port("mode: trunk, tag: 7, trunk-tags: [{id: 8}]"):              "tag in mode trunk needs enable-native",
		port("mode: trunk, enable-native: true, trunk-tags: [{id: 8}]"): "enable-native needs tag",
		port("mode: access, tag: 7, trunk-tags: [{id: 8}]"):             "mode access excludes trunk-tags",
		port("tag: 7"):                  "mode is missing",
		port("mode: access, tag: 4095"): "interfaces[x].bridge.port[p].vlan.tag: 4095 is outside 0-4094",
		port("mode: hybrid"):            `"hybrid" is none of access, trunk`,
		port("mode: trunk, trunk-tags: [{id: 8}, {id-range: {min: 5, max: 9}}]"):            "trunk-tags[1]: VLAN 8 is there already",
		port("mode: trunk, trunk-tags: [{id-range: {min: 9, max: 5}}]"):                     "9-5 is not a range within 1-4094",
		port("mode: trunk, trunk-tags: [{id: 1, id-range: {min: 9, max: 15}}]"):             "needs id or id-range, one of the two",
		bridge("port: [{name: a}, {name: a}]"):                                              "is listed twice",
		bridge("port: [{stp-priority: 3}]"):                                                 "a port has no name",
		bridge("port: [{name: a, stp-priority: 64}]"):                                       "stp-priority: 64 is outside 0-63",
		bridge("port: [{name: a, stp-path-cost: 0}]"):                                       "stp-path-cost: 0 is outside 1-65535",
		bridge("port: [{name: a, link-aggregation: {}}]"):                                   "link-aggregation: does not belong to type linux-bridge, but to ovs-bridge",
		bridge("options: {stp: {forward-delay: 1}}"):                                        "forward-delay: 1 is outside 2-30",
		bridge("options: {fail-mode: secure}"):                                              "does not belong to type linux-bridge, but to ovs-bridge",
		bridge("options: {multicast-router: 7}"):                                            "interfaces[x].bridge.options.multicast-router",
		bridge("allow-extra-patch-ports: true"):                                             "interfaces[x].bridge.allow-extra-patch-ports: does not belong to type linux-bridge, but to ovs-bridge",
		ovs("options: {mac-ageing-time: 5}"):                                                "does not belong to type ovs-bridge, but to linux-bridge",
		ovs("options: {stp: true, rstp: true}"):                                             "stp and rstp exclude each other",
		ovs("options: {fail-mode: open}"):                                                   `"open" is none of secure, standalone`,
		ovs("port: [{name: a, stp-hairpin-mode: true}]"):                                    "does not belong to type ovs-bridge, but to linux-bridge",
		ovs("port: [{name: b, link-aggregation: {mode: x, port: [{name: c}, {name: d}]}}]"): "interfaces[x].bridge.port[b].link-aggregation.mode",
		ovs("port: [{name: b, link-aggregation: {mode: lacp, port: [{name: c}]}}]"):         "needs two ports or more",
		iface("ovs-bridge", "mtu: 1400"):                                                    "carries no addresses, no MTU and no MAC address",

		v6("autoconf: true, dhcp: false"):                        "autoconf without dhcp is not implemented",
		v6("dhcp-client-id: ll"):                                 "dhcp-client-id: belongs to ipv4",
		v6("addr-gen-mode: random"):                              `interfaces[x].ipv6.addr-gen-mode: "random" is none of eui64, stable-privacy`,
		v6("dhcp: true, autoconf: false, token: '::10'"):         "token is used with autoconf only",
		v6("token: 192.0.2.1"):                                   "is not the lower half of an IPv6 address",
		v6("forwarding: true"):                                   "forwarding: is part of nmstate",
		v6("dhcp: true, auto-route-table-id: -1"):                "is outside",
		iface("ethernet", "ipv4: {enabled: true, token: '::1'}"): "belongs to ipv6",

		"interfaces: [{name: a, type: bond, link-aggregation: {port: [c]}}, {name: b, type: vrf, vrf: {port: [c]}}]":                       `interfaces[b]: port "c" belongs to "a" already`,
		"interfaces: [{name: a, type: bond, link-aggregation: {port: [c]}}, {name: c, type: ethernet, controller: b}]":                     `interfaces[c].controller: "b" contradicts interfaces[a].link-aggregation.port, which lists c`,
		"interfaces: [{name: a, type: linux-bridge, bridge: {port: [{name: d}]}}, {name: c, type: ethernet, controller: a}]":               `interfaces[c].controller: "a" contradicts interfaces[a].bridge.port, which does not list c`,
		"interfaces: [{name: a, type: vrf, vrf: {route-table-id: 9, port: []}}, {name: c, type: ethernet, controller: a}]":                 `interfaces[c].controller: "a" contradicts interfaces[a].vrf.port, which does not list c`,
		"interfaces: [{name: a, type: vlan, mtu: 9000, vlan: {id: 7, base-iface: b}}, {name: b, type: ethernet, mtu: 1500}]":               "interfaces[a].mtu: 9000 is more than interfaces[b].mtu, 1500, and it stands on b",
		"interfaces: [{name: a, type: bond, link-aggregation: {port: [c]}}, {name: c, type: ethernet, state: absent}]":                     `interfaces[c]: it is to be absent and a port of "a" at once`,
		"interfaces: [{name: a, type: bond, link-aggregation: {port: [c]}}, {name: c, type: ethernet, ipv4: {enabled: true, dhcp: true}}]": `interfaces[c]: it is a port of "a" and cannot have addresses`,
		"interfaces: [{name: a, type: bond, link-aggregation: {port: [b]}}, {name: b, type: bond, link-aggregation: {port: [a]}}]":         "needs itself: ",

		route("next-hop-interface: a, weight: 300"):                                            "routes.config[0]: weight 300 is outside 1-256",
		route("next-hop-interface: a, source: '::1'"):                                          "source ::1 is of the other IP family",
		route("next-hop-interface: a, source: x"):                                              `source "x" is not an IP address`,
		route("route-type: throw"):                                                             `route-type "throw" is none of blackhole, unreachable, prohibit`,
		route("route-type: blackhole, next-hop-address: 192.0.2.1"):                            "leads nowhere and has no next hop",
		"routes: {config: [{destination: 0.1.0.0/16, next-hop-interface: a}]}":                 "is in 0.0.0.0/8",
		"routes: {config: [{destination: '2001:db8::/32', next-hop-interface: a, weight: 3}]}": "weight has an effect for IPv4 only",
		"interfaces: [{name: a, state: absent}]\n" + route("next-hop-interface: a"):            `the route's interface "a" is to be absent`,

		rule("route-table: 7"):                                                         "route-rules.config[0]: one of ip-from, ip-to and family is needed",
		rule("ip-from: x, family: ipv4"):                                               `ip-from "x" is not a network`,
		rule("ip-from: 192.0.2.0/24, ip-to: '::/0'"):                                   "are of different IP families",
		rule("family: ipv4, action: drop"):                                             `action "drop" is none of blackhole, unreachable, prohibit`,
		rule("family: ipv5"):                                                           `family "ipv5" is none of ipv4, ipv6`,
		rule("family: ipv4, priority: -1"):                                             "cannot be negative",
		rule("family: ipv4, fwmask: 1"):                                                "fwmask needs fwmark",
		rule("family: ipv4, state: up"):                                                `state "up" is neither empty nor absent`,
		"dns-resolver: {config: {options: [ndots]}}":                                   `dns-resolver.config.options: "ndots" is not an option of resolv.conf`,
		"dns-resolver: {config: {options: ['rotate:1']}}":                              "is not an option of resolv.conf",
		"hostname: {config: a b}":                                                      "hostname.config:",
		"ovn: {bridge-mappings: [{localnet: 'a,b', bridge: c}]}":                       "holds a comma or a colon",
		"ovn: {bridge-mappings: [{localnet: a}]}":                                      "ovn.bridge-mappings[a]: bridge is missing",
		"ovn: {bridge-mappings: [{localnet: a, bridge: b}, {localnet: a, bridge: c}]}": "is there already",
	} {
		require.ErrorContains(t, Validate(parse(t, text)), want, text)
	}
}

func TestWhatNmstateAllowsIsAllowed(t *testing.T) {
	for _, text := range []string{
		"interfaces: [{name: x, type: ovs-bridge, bridge: {port: [{name: x}, {name: b, vlan: {mode: trunk}}]}}, {name: x, type: ovs-interface, ipv4: {enabled: true, dhcp: true}}]",
		"interfaces: [{name: v, type: vrf, vrf: {port: [a], route-table-id: 7}}, {name: a, type: ethernet, ipv4: {enabled: true, dhcp: true}}]",
		"interfaces: [{name: b, type: bond, link-aggregation: {mode: 4, options: {lacp_rate: 1, miimon: 100}, port: []}}]",
		"interfaces: [{name: b, type: linux-bridge, bridge: {port: [{name: p, vlan: {}}]}}]",
		"interfaces: [{name: b, type: linux-bridge, bridge: {port: [{name: p, vlan: {mode: trunk, enable-native: true, tag: 5, trunk-tags: [{id: 1}, {id-range: {min: 7, max: 9}}]}}]}}]",
		"interfaces: [{name: x, type: ethernet, identifier: mac-address, mac-address: '02:00:00:00:00:01', profile-name: a longer name than a link has}]",
		"interfaces: [{name: a name of a profile, type: ethernet, identifier: mac-address, mac-address: '02:00:00:00:00:01'}]",
		"interfaces: [{name: x, type: ipvlan, state: absent}, {name: y, type: tun, state: ignore}]",
		"interfaces: [{name: x, type: ethernet, controller: ''}]",
		"interfaces: [{name: lo, type: loopback, ipv4: {enabled: true, address: [{ip: 127.0.0.1, prefix-length: 8}]}}]",
		"routes: {config: [{destination: 198.51.100.0/24, route-type: blackhole}, {destination: 0.0.0.0/0, next-hop-interface: a, weight: 256}]}",
		"route-rules: {config: [{state: absent}, {family: ipv6, fwmark: 0x1, fwmask: 0xff, suppress-prefix-length: 0}]}",
		"dns-resolver: {config: {options: [rotate, 'ndots:2', 'timeout:1']}}", "dns-resolver: {config: {}}", "{}", "",
	} {
		require.NoError(t, Validate(parse(t, text)), text)
	}
}
