package kernelargs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/kernelargs"
)

func request() ipconfig.Request {
	return ipconfig.Request{
		OperationID: "op", CurrentIPv4Address: "192.0.2.10", CurrentIPv4PrefixLength: 24, CurrentIPv4Gateway: "192.0.2.1",
		CurrentIPv6Address: "2001:db8::10", CurrentIPv6PrefixLength: 64, CurrentIPv6Gateway: "2001:db8::1",
		CurrentDNSServers: []string{"192.0.2.53", "203.0.113.53"},
		IPv4Address:       "198.51.100.20", IPv4MachineNetwork: "198.51.100.0/25", IPv4Gateway: "198.51.100.1",
		IPv6Address: "2001:db8:1::20", IPv6MachineNetwork: "2001:db8:1::/56", IPv6Gateway: "2001:db8:1::1",
		DNSServers: []string{"198.51.100.53", "2001:db8:1::53"},
	}
}

func TestMove(t *testing.T) {
	for _, c := range []struct {
		name          string
		edit          func(*ipconfig.Request)
		before, after []string
		stuck         string
	}{
		{name: "nothing of the network", before: []string{"rw", "$ignition_firstboot", "root=UUID=1", "rd.neednet=1", "rd.luks.options=_netdev", "ip"}},
		{name: "dynamic", before: []string{"ip=dhcp", "ip=dhcp6", "ip=eno1:dhcp", "ip=eno1:auto6:1500:52:54:00:00:00:01", "ip=ibft", "ip=any", "ip=single-dhcp"}},
		{name: "another interface", before: []string{"ip=203.0.113.5::203.0.113.1:255.255.255.0::eno2:none"}},
		{name: "static, mask", before: []string{"ip=192.0.2.10::192.0.2.1:255.255.255.0:sno:eno1:none"},
			after: []string{"ip=198.51.100.20::198.51.100.1:255.255.255.128:sno:eno1:none"}},
		{name: "static, length", before: []string{"a=1", "ip=192.0.2.10::192.0.2.1:24::eno1:off", "b=2"},
			after: []string{"a=1", "ip=198.51.100.20::198.51.100.1:25::eno1:off", "b=2"}},
		{name: "short forms", before: []string{"ip=192.0.2.10", "ip=192.0.2.10::192.0.2.1", "ip=192.0.2.10:::255.255.255.0"},
			after: []string{"ip=198.51.100.20", "ip=198.51.100.20::198.51.100.1", "ip=198.51.100.20:::255.255.255.128"}},
		{name: "DNS in it", before: []string{"ip=192.0.2.10::192.0.2.1:24::eno1:none:192.0.2.53:203.0.113.53"},
			after: []string{"ip=198.51.100.20::198.51.100.1:25::eno1:none:198.51.100.53:[2001:db8:1::53]"}},
		{name: "MTU and MAC in it", before: []string{"ip=192.0.2.10::192.0.2.1:24::eno1:none:9000:52:54:00:00:00:01"},
			after: []string{"ip=198.51.100.20::198.51.100.1:25::eno1:none:9000:52:54:00:00:00:01"}},
		{name: "IPv6", before: []string{"ip=[2001:DB8:0::10]::[2001:db8::1]:64::eno1:none"},
			after: []string{"ip=[2001:db8:1::20]::[2001:db8:1::1]:56::eno1:none"}},
		{name: "DNS servers", before: []string{"nameserver=192.0.2.53", "x", "nameserver=203.0.113.53", "nameserver=9.9.9.9"},
			after: []string{"nameserver=198.51.100.53", "nameserver=2001:db8:1::53", "x", "nameserver=9.9.9.9"}},
		{name: "a DNS server on the link that is left", before: []string{"nameserver=192.0.2.99"},
			after: []string{"nameserver=198.51.100.53", "nameserver=2001:db8:1::53"}},
		{name: "DNS servers that stay", edit: func(r *ipconfig.Request) { r.DNSServers = r.CurrentDNSServers }, before: []string{"nameserver=203.0.113.53"}},
		{name: "a VLAN that changes", edit: func(r *ipconfig.Request) { r.VLANID = 7 }, before: []string{"vlan=eno1.5:eno1", "ip=192.0.2.10::192.0.2.1:24::eno1.5:none"},
			stuck: "the VLAN changes, and with it the interface"},
		{name: "another gateway", before: []string{"ip=192.0.2.10::192.0.2.254:24::eno1:none"}, stuck: "its gateway 192.0.2.254 is not that of the node"},
		{name: "a peer", before: []string{"ip=192.0.2.10:192.0.2.9:192.0.2.1:24::eno1:none"}, stuck: "it names a peer"},
		{name: "owned by a MachineConfig", before: []string{"ip=192.0.2.10::192.0.2.1:24::owned:none"}, stuck: "a MachineConfig owns it"},
		{name: "a new DNS server that is named already", before: []string{"nameserver=192.0.2.53", "nameserver=198.51.100.53", "nameserver=2001:db8:1::53"},
			after: []string{"nameserver=198.51.100.53", "nameserver=2001:db8:1::53"}},
		{name: "no mask", before: []string{"ip=192.0.2.10::192.0.2.1:x::eno1:none"}, stuck: `its netmask "x" is not one`},
		{name: "another address on the link that is left", before: []string{"ip=192.0.2.11::192.0.2.1:24::eno1:none"},
			stuck: "it gives another address in the network that the node leaves"},
		{name: "a route on the link that is left", before: []string{"rd.route=10.0.0.0/8:192.0.2.254:eno1"}, stuck: "its next hop 192.0.2.254 is in the network that the node leaves"},
		{name: "a route elsewhere", before: []string{"rd.route=10.0.0.0/8:203.0.113.1:eno2"}},
		{name: "one family stays", edit: func(r *ipconfig.Request) {
			r.IPv6Address, r.IPv6MachineNetwork, r.IPv6Gateway, r.IPv6PrefixLength = "2001:db8::10", "2001:db8::/48", "2001:db8::1", 64
		}, before: []string{"ip=[2001:db8::10]::[2001:db8::1]:64::eno1:none"}},
		{name: "a request that does not say what the node has", edit: func(r *ipconfig.Request) {
			r.CurrentIPv4Address, r.CurrentIPv6Address, r.CurrentDNSServers = "", "", nil
		}, before: []string{"ip=192.0.2.10::192.0.2.1:24::eno1:none"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := request()
			if c.edit != nil {
				c.edit(&r)
			}
			change, err := kernelargs.Of(r)
			require.NoError(t, err)
			change.Owned = []string{"rw", "ip=192.0.2.10::192.0.2.1:24::owned:none"}
			if c.after == nil {
				c.after = c.before
			}
			moved := change.Move(c.before)
			require.Equal(t, c.after, moved.Arguments)
			if c.stuck == "" {
				require.Empty(t, moved.Stuck)
			} else {
				require.Len(t, moved.Stuck, 1)
				require.Contains(t, moved.Stuck[0], c.stuck)
			}
			again := change.Move(moved.Arguments)
			require.Equal(t, moved.Arguments, again.Arguments, "moved once is moved")
			require.Empty(t, again.Changed)
		})
	}
}

func TestNeedsNetwork(t *testing.T) {
	for argument, needs := range map[string]bool{
		"rd.neednet=1": true, "rd.neednet": true, "rd.neednet=0": false, "rd.luks.options=_netdev": true,
		"rd.luks.options=discard,_netdev": true, "rd.luks.options=discard": false, "rd.luks.options=1234-5678=_netdev": true,
		"ip=192.0.2.10::192.0.2.1:24::eno1:none": false, "rw": false,
	} {
		require.Equal(t, needs, kernelargs.NeedsNetwork([]string{"rw", argument}), argument)
	}
}
