package lca_test

import (
	"fmt"
	"strings"
	"testing"
)

// fieldCase is a spec, without its stage, and the answer to creating it.
type fieldCase struct {
	name, spec string
	want       *refusal
}

func runFieldCases(t *testing.T, tests []fieldCase) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			requireAnswer(t, newSingleton(t).create(t, `{stage: Idle, `+test.spec+`}`), test.want)
		})
	}
}

func TestIPv4(t *testing.T) {
	address := &refusal{"spec.ipv4.address", "spec.ipv4.address must be a unicast IPv4 address without prefix length, " +
		"for example 192.0.2.10; put the network into spec.ipv4.machineNetwork"}
	reserved := &refusal{"spec.ipv4.address", "spec.ipv4.address must not be in 0.0.0.0/8 or 240.0.0.0/4, which are reserved and belong " +
		"to no host (RFC 6890); choose a host address"}
	network := &refusal{"spec.ipv4.machineNetwork", "spec.ipv4.machineNetwork must be an IPv4 network in CIDR notation " +
		"with no host bits set, for example 192.0.2.0/24; correct it"}
	gateway := &refusal{"spec.ipv4.gateway", "spec.ipv4.gateway must be a unicast IPv4 address without prefix length, " +
		"for example 192.0.2.1; correct it or leave it out"}
	addressOutside := &refusal{"spec.ipv4.address", "spec.ipv4.address must be inside spec.ipv4.machineNetwork; correct one of the two"}
	addressIsNetwork := &refusal{"spec.ipv4.address", "spec.ipv4.address must not be the first address of " +
		"spec.ipv4.machineNetwork, which names the network itself; choose a host address"}
	gatewayOutside := &refusal{"spec.ipv4.gateway", "spec.ipv4.gateway must be inside spec.ipv4.machineNetwork; correct one of the two"}
	gatewayIsAddress := &refusal{"spec.ipv4.gateway", "spec.ipv4.gateway must not be the node's own spec.ipv4.address; enter the address of the router"}
	runFieldCases(t, []fieldCase{
		{"address only", `ipv4: {address: 192.0.2.10}`, nil},
		{"all", `ipv4: {address: 192.0.2.10, machineNetwork: 192.0.2.0/24, gateway: 192.0.2.1}`, nil},
		{"gateway without network", `ipv4: {address: 192.0.2.10, gateway: 198.51.100.1}`, nil},
		{"point to point", `ipv4: {address: 192.0.2.10, machineNetwork: 192.0.2.10/31, gateway: 192.0.2.11}`, nil},
		{"no address", `ipv4: {gateway: 192.0.2.1}`, &refusal{"spec.ipv4.address", "Required value"}},
		{"empty address", `ipv4: {address: ""}`, address},
		{"address with prefix", `ipv4: {address: 192.0.2.10/24}`, address},
		{"long address with prefix", `ipv4: {address: 192.168.100.100/24, machineNetwork: 192.168.100.0/24}`, address},
		{"IPv6 address", `ipv4: {address: "2001:db8::10"}`, address},
		{"IPv6 address with network", `ipv4: {address: "2001:db8::10", machineNetwork: 192.0.2.0/24}`, address},
		{"IPv4-mapped IPv6 address", `ipv4: {address: "::ffff:192.0.2.10"}`, address},
		{"leading zeros", `ipv4: {address: 192.0.2.010}`, address},
		{"not an address", `ipv4: {address: node.example.com}`, address},
		{"any address", `ipv4: {address: 0.0.0.0}`, address},
		{"loopback", `ipv4: {address: 127.0.0.1}`, address},
		{"multicast", `ipv4: {address: 224.0.0.1}`, address},
		{"link-local", `ipv4: {address: 169.254.0.1}`, address},
		{"broadcast", `ipv4: {address: 255.255.255.255}`, address},
		{"this network", `ipv4: {address: 0.0.0.10}`, reserved},
		{"end of this network", `ipv4: {address: 0.255.255.254}`, reserved},
		{"first that is not of this network", `ipv4: {address: 1.0.0.1}`, nil},
		{"last before multicast", `ipv4: {address: 223.255.255.254}`, nil},
		{"reserved for future use", `ipv4: {address: 240.0.0.1, machineNetwork: 240.0.0.0/24, gateway: 240.0.0.2}`, reserved},
		{"end of reserved", `ipv4: {address: 255.255.255.254}`, reserved},
		{"network without prefix", `ipv4: {address: 192.0.2.10, machineNetwork: 192.0.2.0}`, network},
		{"network with host bits", `ipv4: {address: 192.0.2.10, machineNetwork: 192.0.2.10/24}`, network},
		{"IPv6 network", `ipv4: {address: 192.0.2.10, machineNetwork: "2001:db8::/64"}`, network},
		{"prefix too long", `ipv4: {address: 192.0.2.10, machineNetwork: 192.0.2.0/33}`, network},
		{"address outside", `ipv4: {address: 198.51.100.10, machineNetwork: 192.0.2.0/24}`, addressOutside},
		{"address is the network", `ipv4: {address: 192.0.2.0, machineNetwork: 192.0.2.0/24}`, addressIsNetwork},
		{"gateway outside", `ipv4: {address: 192.0.2.10, machineNetwork: 192.0.2.0/24, gateway: 198.51.100.1}`, gatewayOutside},
		{"gateway is address", `ipv4: {address: 192.0.2.10, gateway: 192.0.2.10}`, gatewayIsAddress},
		{"gateway with prefix", `ipv4: {address: 192.0.2.10, gateway: 192.0.2.1/24}`, gateway},
		{"IPv6 gateway", `ipv4: {address: 192.0.2.10, machineNetwork: 192.0.2.0/24, gateway: "fe80::1"}`, gateway},
		{"link-local gateway", `ipv4: {address: 192.0.2.10, gateway: 169.254.0.1}`, gateway},
		{"far too long", `ipv4: {address: ` + strings.Repeat("a", 65) + `}`,
			&refusal{"spec.ipv4.address", "Too long: may not be more than 64 bytes"}},
	})
}

func TestIPv6(t *testing.T) {
	address := &refusal{"spec.ipv6.address", "spec.ipv6.address must be a unicast IPv6 address without prefix length and not " +
		"link-local, for example 2001:db8::10; put the network into spec.ipv6.machineNetwork"}
	network := &refusal{"spec.ipv6.machineNetwork", "spec.ipv6.machineNetwork must be an IPv6 network in CIDR notation " +
		"with no host bits set, for example 2001:db8::/64; correct it"}
	gateway := &refusal{"spec.ipv6.gateway", "spec.ipv6.gateway must be a unicast IPv6 address without prefix length or zone, " +
		"for example 2001:db8::1 or fe80::1; correct it or leave it out"}
	addressOutside := &refusal{"spec.ipv6.address", "spec.ipv6.address must be inside spec.ipv6.machineNetwork; correct one of the two"}
	addressIsNetwork := &refusal{"spec.ipv6.address", "spec.ipv6.address must not be the first address of " +
		"spec.ipv6.machineNetwork, which every router answers (RFC 4291 2.6.1); choose a host address"}
	gatewayOutside := &refusal{"spec.ipv6.gateway", "spec.ipv6.gateway must be inside spec.ipv6.machineNetwork or be link-local (fe80::/10); correct one of the two"}
	gatewayIsAddress := &refusal{"spec.ipv6.gateway", "spec.ipv6.gateway must not be the node's own spec.ipv6.address; enter the address of the router"}
	runFieldCases(t, []fieldCase{
		{"address only", `ipv6: {address: "2001:db8::10"}`, nil},
		{"all", `ipv6: {address: "2001:db8::10", machineNetwork: "2001:db8::/64", gateway: "2001:db8::1"}`, nil},
		{"upper case", `ipv6: {address: "2001:DB8::A", machineNetwork: "2001:DB8::/64", gateway: "2001:DB8::1"}`, nil},
		{"not shortened", `ipv6: {address: "2001:0db8:0:0:0:0:0:a", machineNetwork: "2001:db8::/64"}`, nil},
		{"unique local", `ipv6: {address: "fd00::10", machineNetwork: "fd00::/64"}`, nil},
		{"link-local gateway", `ipv6: {address: "2001:db8::10", machineNetwork: "2001:db8::/64", gateway: "fe80::1"}`, nil},
		{"last link-local gateway", `ipv6: {address: "2001:db8::10", machineNetwork: "2001:db8::/64", gateway: "febf::1"}`, nil},
		{"no address", `ipv6: {machineNetwork: "2001:db8::/64"}`, &refusal{"spec.ipv6.address", "Required value"}},
		{"empty address", `ipv6: {address: ""}`, address},
		{"address with prefix", `ipv6: {address: "2001:db8::10/64"}`, address},
		{"IPv4 address", `ipv6: {address: 192.0.2.10}`, address},
		{"IPv4 address with network", `ipv6: {address: 192.0.2.10, machineNetwork: "2001:db8::/64"}`, address},
		{"IPv4-mapped IPv6 address", `ipv6: {address: "::ffff:192.0.2.10"}`, address},
		{"zone", `ipv6: {address: "2001:db8::10%br-ex"}`, address},
		{"any address", `ipv6: {address: "::"}`, address},
		{"loopback", `ipv6: {address: "::1"}`, address},
		{"multicast", `ipv6: {address: "ff02::1"}`, address},
		{"link-local", `ipv6: {address: "fe80::10"}`, address},
		{"network with host bits", `ipv6: {address: "2001:db8::10", machineNetwork: "2001:db8::10/64"}`, network},
		{"IPv4 network", `ipv6: {address: "2001:db8::10", machineNetwork: 192.0.2.0/24}`, network},
		{"prefix too long", `ipv6: {address: "2001:db8::10", machineNetwork: "2001:db8::/129"}`, network},
		{"address outside", `ipv6: {address: "2001:db8:1::10", machineNetwork: "2001:db8::/64"}`, addressOutside},
		{"address is the network", `ipv6: {address: "2001:DB8:0::", machineNetwork: "2001:db8::/64"}`, addressIsNetwork},
		{"gateway outside", `ipv6: {address: "2001:db8::10", machineNetwork: "2001:db8::/64", gateway: "2001:db8:1::1"}`, gatewayOutside},
		{"gateway just above link-local", `ipv6: {address: "2001:db8::10", machineNetwork: "2001:db8::/64", gateway: "fec0::1"}`, gatewayOutside},
		{"gateway is address, spelled otherwise", `ipv6: {address: "2001:db8::a", gateway: "2001:DB8:0::A"}`, gatewayIsAddress},
		{"gateway with zone", `ipv6: {address: "2001:db8::10", gateway: "fe80::1%br-ex"}`, gateway},
		{"IPv4 gateway", `ipv6: {address: "2001:db8::10", machineNetwork: "2001:db8::/64", gateway: 192.0.2.1}`, gateway},
		{"multicast gateway", `ipv6: {address: "2001:db8::10", gateway: "ff02::2"}`, gateway},
	})
}

func TestDNSServers(t *testing.T) {
	entry := func(i int) *refusal {
		return &refusal{fmt.Sprintf("spec.dnsServers[%d]", i), "each entry of spec.dnsServers must be a unicast IPv4 or IPv6 address without prefix " +
			"length, port or zone, for example 192.0.2.53 or 2001:db8::53; correct or remove it"}
	}
	duplicate := &refusal{"spec.dnsServers", "spec.dnsServers names the same address more than once; remove the duplicate"}
	runFieldCases(t, []fieldCase{
		{"none", `dnsServers: []`, nil},
		{"both families in any order", `dnsServers: ["2001:db8::53", 192.0.2.53, "2001:DB8::54"]`, nil},
		{"eight", `dnsServers: [192.0.2.1, 192.0.2.2, 192.0.2.3, 192.0.2.4, 192.0.2.5, 192.0.2.6, 192.0.2.7, 192.0.2.8]`, nil},
		{"nine", `dnsServers: [192.0.2.1, 192.0.2.2, 192.0.2.3, 192.0.2.4, 192.0.2.5, 192.0.2.6, 192.0.2.7, 192.0.2.8, 192.0.2.9]`,
			&refusal{"spec.dnsServers", "Too many: 9: must have at most 8 items"}},
		{"name", `dnsServers: [192.0.2.53, dns.example.com]`, entry(1)},
		{"empty", `dnsServers: [""]`, entry(0)},
		{"prefix", `dnsServers: [192.0.2.53/32]`, entry(0)},
		{"port", `dnsServers: ["192.0.2.53:53"]`, entry(0)},
		{"loopback", `dnsServers: [127.0.0.1]`, entry(0)},
		{"link-local", `dnsServers: ["fe80::1"]`, entry(0)},
		{"IPv4-mapped", `dnsServers: ["::ffff:192.0.2.53"]`, entry(0)},
		{"duplicate", `dnsServers: [192.0.2.53, 192.0.2.54, 192.0.2.53]`, duplicate},
		{"duplicate, spelled otherwise", `dnsServers: ["2001:db8::a", "2001:DB8:0::A"]`, duplicate},
	})
}

func TestVLAN(t *testing.T) {
	outOfRange := &refusal{"spec.vlanID", "spec.vlanID must be 1 to 4094, or 0 for no VLAN (leave it out to keep the present one); 4095 is reserved by IEEE 802.1Q"}
	runFieldCases(t, []fieldCase{
		{"left out", `vlanID: null`, nil},
		{"zero", `vlanID: 0`, nil},
		{"lowest", `vlanID: 1`, nil},
		{"highest", `vlanID: 4094`, nil},
		{"reserved", `vlanID: 4095`, outOfRange},
		{"beyond", `vlanID: 4096`, outOfRange},
		{"negative", `vlanID: -1`, outOfRange},
	})
}

func TestAutoRollback(t *testing.T) {
	runFieldCases(t, []fieldCase{
		{"empty", `autoRollbackOnFailure: {}`, nil},
		{"zero", `autoRollbackOnFailure: {initMonitorTimeoutSeconds: 0}`, nil},
		{"set", `autoRollbackOnFailure: {initMonitorTimeoutSeconds: 1800}`, nil},
		{"negative", `autoRollbackOnFailure: {initMonitorTimeoutSeconds: -1}`,
			&refusal{"spec.autoRollbackOnFailure.initMonitorTimeoutSeconds", "spec.autoRollbackOnFailure.initMonitorTimeoutSeconds " +
				"must be 0 (which means the default of 1800) or more; correct it"}},
	})
}

func TestDNSFilterAtCreation(t *testing.T) {
	tooEarly := &refusal{"spec.dnsFilterOutFamily", "spec.dnsFilterOutFamily cannot be ipv4 or ipv6 when the IPConfig is created, because " +
		"status does not yet show a dual-stack cluster; create it without, and set it when status.ipv4.address and status.ipv6.address are both present"}
	runFieldCases(t, []fieldCase{
		{"none", `dnsFilterOutFamily: none`, nil},
		{"empty", `dnsFilterOutFamily: ""`, nil},
		{"ipv4", `dnsFilterOutFamily: ipv4`, tooEarly},
		{"ipv6", `dnsFilterOutFamily: ipv6`, tooEarly},
		{"unknown", `dnsFilterOutFamily: IPv4`,
			&refusal{"spec.dnsFilterOutFamily", `Unsupported value: "IPv4": supported values: "", "ipv4", "ipv6", "none"`}},
	})
}
