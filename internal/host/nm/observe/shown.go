package observe

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/kernel"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// AddShown completes what a person or another program is shown: link-local addresses, the times that leased addresses have
// left, limits of the MTU, and the controller of each port. A family that is off says that alone. Interfaces are in the order of
// their names, routes and rules in nmstate's order: captures pick them by their number. What is planned and verified knows none of it.
func AddShown(d *netstate.Document, s *kernel.Shown) {
	controllers := map[string]string{}
	for _, c := range d.Interfaces {
		for _, port := range c.Ports() {
			if port != c.Name {
				controllers[port] = c.Name
			}
		}
	}
	slices.SortStableFunc(d.Interfaces, func(a, b netstate.Interface) int { return strings.Compare(a.Name, b.Name) })
	orderRoutes(d.Routes)
	orderRules(d.RouteRules)
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
	if ip.Off() {
		return netstate.Disabled()
	}
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
			out.Addresses[n].ValidLifetime, out.Addresses[n].PreferredLifetime = formatLifetime(left.Valid), formatLifetime(left.Preferred)
		}
	}
	return &out
}

// formatLifetime is a time as nmstate writes it.
func formatLifetime(seconds uint32) string {
	if seconds == math.MaxUint32 {
		return "forever"
	}
	return fmt.Sprintf("%dsec", seconds)
}

func orderRoutes(r *netstate.Routes) {
	if r == nil {
		return
	}
	for _, all := range [][]netstate.Route{r.Running, r.Config} {
		slices.SortStableFunc(all, func(a, b netstate.Route) int {
			return cmp.Or(
				ipv6First(strings.Contains(a.Destination, ":"), strings.Contains(b.Destination, ":")),
				cmp.Compare(a.Table(), b.Table()), cmp.Compare(cmp.Or(a.NextHopInterface, "lo"), cmp.Or(b.NextHopInterface, "lo")),
				cmp.Compare(a.Destination, b.Destination), cmp.Compare(a.NextHopAddress, b.NextHopAddress), cmp.Compare(a.Source, b.Source),
				cmp.Compare(a.Weight, b.Weight), cmp.Compare(a.CWND, b.CWND),
			)
		})
	}
}

func orderRules(r *netstate.RouteRules) {
	if r == nil {
		return
	}
	slices.SortStableFunc(r.Config, func(a, b netstate.RouteRule) int {
		return cmp.Or(
			ipv6First(a.Family == "ipv6", b.Family == "ipv6"), cmp.Compare(a.RouteTable, b.RouteTable),
			cmp.Compare(text(a.IPFrom), text(b.IPFrom)), cmp.Compare(text(a.IPTo), text(b.IPTo)), cmp.Compare(a.Priority, b.Priority),
		)
	})
}

func ipv6First(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
