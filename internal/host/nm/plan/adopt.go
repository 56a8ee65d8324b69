package plan

import (
	"net/netip"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// adoptAddresses takes what a link without a profile has into its first one, family by family: another program, or a person, gave it
// fixed addresses and routes, and the document says nothing of the family. NetworkManager would remove them.
func (p *Plan) adoptAddresses(s profile.Settings, i netstate.Interface) error {
	now, exists := p.carrierNow(i.Name)
	if !exists || s.Kind() == profile.TypeLoopback {
		return nil
	}
	for _, f := range []netstate.Family{netstate.IPv4, netstate.IPv6} {
		ip := f.Of(now)
		if f.Of(i) != nil || !ip.On() || ip.Auto() {
			continue
		}
		fixed := fixedOf(ip)
		if len(fixed) == 0 {
			continue
		}
		s.Set(profile.Section(f), "method", "manual")
		setAddresses(s, profile.Section(f), fixed)
		if err := mergeRoutes(s, i.Name, f, p.configuredOn(i.Name, f), p.now); err != nil {
			return err
		}
	}
	return nil
}

// fixedOf are the addresses of a family that the network did not give and the kernel does not make.
func fixedOf(ip *netstate.IP) (out []netip.Prefix) {
	for _, a := range ip.Addresses {
		if prefix, err := a.Prefix(); err == nil && !a.Leased && !a.Dynamic() && !a.LinkLocal() {
			out = append(out, prefix)
		}
	}
	return out
}

// configuredOn are the routes that a person or a program configured over the interface.
func (p *Plan) configuredOn(iface string, f netstate.Family) []netstate.Route {
	if p.now.Routes == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.now.Routes.Config), func(r netstate.Route) bool {
		family, known := r.Family()
		return r.NextHopInterface != iface || !known || family != f
	})
}
