package nmstatectl

import (
	"net/netip"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// tidy makes what the tool shows look as every backend of the port shows it.
func tidy(d netstate.Document) netstate.Document {
	d.Interfaces = slices.DeleteFunc(d.Interfaces, func(i netstate.Interface) bool { return i.Type == "loopback" })
	for n := range d.Interfaces {
		i := &d.Interfaces[n]
		if i.Type == "veth" {
			i.Type = netstate.TypeEthernet
		}
		if i.IPv6 != nil {
			i.IPv6.Addresses = slices.DeleteFunc(i.IPv6.Addresses, linkLocal)
		}
	}
	if d.Routes != nil {
		for _, list := range [][]netstate.Route{d.Routes.Running, d.Routes.Config} {
			for n := range list {
				list[n].Metric = max(list[n].Metric, 0) // -1 stands for "the default"
			}
		}
	}
	return d
}

func linkLocal(a netstate.Address) bool {
	ip, err := netip.ParseAddr(a.IP)
	return err == nil && ip.IsLinkLocalUnicast()
}
