package netpolicy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

const dependent = `{"interfaces":[{"name":"eno1.100","type":"vlan","state":"up","vlan":{"base-iface":"eno1","id":100}}],` +
	`"routes":{"config":[{"destination":"198.51.100.0/24","next-hop-interface":"br0","next-hop-address":"192.0.2.9"}]}}`

func networkOf(t *testing.T, text string) netstate.Document {
	t.Helper()
	d, err := netstate.Decode([]byte(text))
	require.NoError(t, err)
	return d
}

// A failed document has another chance when the links that it names, what they rest on, or their profiles are others than they were.
func TestWhatADocumentDependsOn(t *testing.T) {
	now := `{"interfaces":[{"name":"eno1","type":"ethernet","state":"up","mtu":1500,"mac-address":"52:54:00:00:00:01",` +
		`"ipv4":{"enabled":true,"dhcp":true,"address":[{"ip":"192.0.2.7","prefix-length":24,"valid-life-time":"50sec"}]}},` +
		`{"name":"br0","type":"linux-bridge","state":"up","mac-address":"52:54:00:00:00:02"},` +
		`{"name":"eno2","type":"ethernet","state":"up","mtu":1500},{"name":"veth1","type":"veth","state":"ignore"}],` +
		`"routes":{"running":[{"destination":"0.0.0.0/0","next-hop-interface":"eno1","next-hop-address":"192.0.2.1"}]}}`
	for name, c := range map[string]struct {
		change     func(*netstate.Document)
		named, all bool
	}{
		"nothing":             {func(*netstate.Document) {}, false, false},
		"a lease":             {func(d *netstate.Document) { d.Interfaces[0].IPv4.Addresses[0].IP = "192.0.2.8" }, false, false},
		"a pod":               {func(d *netstate.Document) { d.Interfaces = d.Interfaces[:3] }, false, false},
		"its base":            {func(d *netstate.Document) { d.Interfaces[0].MTU = 9000 }, true, true},
		"its base's cable":    {func(d *netstate.Document) { d.Interfaces[0].HasCarrier = true }, true, true},
		"a bridge's signal":   {func(d *netstate.Document) { d.Interfaces[1].HasCarrier = true }, false, false},
		"another's cable":     {func(d *netstate.Document) { d.Interfaces[2].HasCarrier = true }, false, true},
		"its base's card":     {func(d *netstate.Document) { d.Interfaces[0].MACAddress = "52:54:00:00:00:09" }, true, true},
		"a bridge made anew":  {func(d *netstate.Document) { d.Interfaces[1].MACAddress = "52:54:00:00:00:09" }, false, false},
		"the link of a route": {func(d *netstate.Document) { d.Interfaces[1].State = netstate.StateDown }, true, true},
		"its base is gone":    {func(d *netstate.Document) { d.Interfaces = d.Interfaces[1:] }, true, true},
		"another link":        {func(d *netstate.Document) { d.Interfaces[2].MTU = 9000 }, false, true},
		"the running gateway": {func(d *netstate.Document) { d.Routes.Running[0].NextHopAddress = "192.0.2.254" }, false, true},
		"an automatic metric": {func(d *netstate.Document) { d.Routes.Running[0].Metric = 20102 }, false, false},
		"a route on its link": {func(d *netstate.Document) { d.Routes.Config = append(d.Routes.Config, routeOver("br0")) }, true, true},
		"a route on another":  {func(d *netstate.Document) { d.Routes.Config = append(d.Routes.Config, routeOver("eno2")) }, false, true},
	} {
		before, after := networkOf(t, now), networkOf(t, now)
		c.change(&after)
		require.Equal(t, c.named, netpolicy.Dependencies(dependent, false, before) != netpolicy.Dependencies(dependent, false, after), name)
		require.Equal(t, c.all, netpolicy.Dependencies(dependent, true, before) != netpolicy.Dependencies(dependent, true, after), "captures: %s", name)
		require.Equal(t, c.all, netpolicy.Dependencies("", false, before) != netpolicy.Dependencies("", false, after), "unresolved: %s", name)
	}
}

func routeOver(link string) netstate.Route {
	return netstate.Route{Destination: "203.0.113.0/24", NextHopInterface: link, NextHopAddress: "192.0.2.1"}
}
