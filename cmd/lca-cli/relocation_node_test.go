package main

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

func TestTheAddressesOnSiteAreThoseThatALaptopReaches(t *testing.T) {
	at := func(texts ...string) (out []netip.Addr) {
		for _, text := range texts {
			out = append(out, netip.MustParseAddr(text))
		}
		return out
	}
	port := siteLink{name: "eno1", port: true, addresses: at("192.0.2.10")}
	bridge := siteLink{name: host.BridgeExternal, addresses: at("192.0.2.20", "2001:db8::20")}
	bond := siteLink{name: "bond0", addresses: at("192.0.2.30")}
	pods := siteLink{name: "ovn-k8s-mp0", addresses: at("10.128.0.2")}
	for name, c := range map[string]struct {
		links []siteLink
		want  []netip.Addr
	}{
		"a port":                    {[]siteLink{port, pods}, at("192.0.2.10")},
		"the bridge takes it over":  {[]siteLink{{name: "eno1", port: true}, bridge, pods}, at("192.0.2.20", "2001:db8::20")},
		"both have some":            {[]siteLink{port, bridge}, at("192.0.2.10", "192.0.2.20", "2001:db8::20")},
		"ports in a bond: all":      {[]siteLink{{name: "eno1", port: true}, bond, pods}, at("192.0.2.30", "10.128.0.2")},
		"no link has an address":    {[]siteLink{{name: "eno1", port: true}}, nil},
		"a machine without network": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, reachableAddresses(c.links)) })
	}
}
