package observe

import (
	"fmt"
	"math"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/kernel"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// AddShown completes what a person or another program is shown: link-local addresses, the times that leased addresses have
// left, limits of the MTU, and the controller of each port. What is planned and verified knows none of it.
func AddShown(d *netstate.Document, s *kernel.Shown) {
	controllers := map[string]string{}
	for _, c := range d.Interfaces {
		for _, port := range c.Ports() {
			if port != c.Name {
				controllers[port] = c.Name
			}
		}
	}
	for n := range d.Interfaces {
		i := &d.Interfaces[n]
		if i.Type == netstate.TypeOVSBridge || i.Patch != nil {
			continue
		}
		i.MinMTU, i.MaxMTU = int(s.MTU[i.Name].Min), int(s.MTU[i.Name].Max)
		if c, ok := controllers[i.Name]; ok {
			i.Controller = &c
		}
		i.IPv4, i.IPv6 = withLifetimes(i.IPv4, i.Name, s), withLifetimes(i.IPv6, i.Name, s)
		if i.IPv6.On() {
			for _, p := range s.LinkLocal[i.Name] {
				i.IPv6.Addresses = append(i.IPv6.Addresses, netstate.FromPrefix(p))
			}
		}
	}
}

func withLifetimes(ip *netstate.IP, name string, s *kernel.Shown) *netstate.IP {
	if ip == nil {
		return nil
	}
	out := *ip
	out.Addresses = append([]netstate.Address(nil), ip.Addresses...)
	for n, a := range out.Addresses {
		p, err := a.Prefix()
		if err != nil {
			continue
		}
		if left, ends := s.Lifetimes[name][p]; ends {
			out.Addresses[n].ValidLifetime, out.Addresses[n].PreferredLifetime = lifetime(left.Valid), lifetime(left.Preferred)
		}
	}
	return &out
}

// lifetime is a time as nmstate writes it.
func lifetime(seconds uint32) string {
	if seconds == math.MaxUint32 {
		return "forever"
	}
	return fmt.Sprintf("%dsec", seconds)
}
