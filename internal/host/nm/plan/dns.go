package plan

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Precedence of a profile's servers: the family listed first wins.
const (
	dnsFirst  int32 = 40
	dnsSecond int32 = 50
)

// planResolver places the servers. NetworkManager keeps servers per profile and family, so
// each family gets one holder, and every other active profile gives up its own. A list
// that mixes the families cannot be kept in order that way and goes into the global
// configuration, and so does every list where that is in use already, or where no interface has a family of the servers.
func (p *Plan) planResolver(want netstate.Resolver) error {
	if want.Clears() {
		want = netstate.Resolver{Server: []string{}, Search: []string{}, Options: []string{}}
	}
	first, second, inOrder := byFamily(want.Server)
	groups := slices.DeleteFunc([][]netip.Addr{first, second}, func(g []netip.Addr) bool { return len(g) == 0 })
	switch global := p.snap.Global; {
	case global.Set() && inOrder && p.canMoveResolver(want, groups):
		p.Global = &profile.GlobalDNS{}
	case global.Set():
		return p.planGlobalResolver(want)
	case p.resolverInPlace(want):
		return nil
	case !inOrder:
		return p.planGlobalResolver(want)
	}
	holders, err := p.findServersHolders(groups)
	if errors.Is(err, errNoHolder) {
		return p.planGlobalResolver(want)
	}
	if err != nil {
		return err
	}
	var keep []string // sections that hold servers, as "iface/section"
	for n, group := range groups {
		c, sec := holders[n], profile.Section(netstate.FamilyOf(group[0]))
		keep = append(keep, c.Iface+"/"+sec)
		c.After.Set(sec, "dns-data", addressTexts(group))
		c.After.Set(sec, "dns-priority", []int32{dnsFirst, dnsSecond}[n])
		if n == 0 {
			setLists(c, sec, want)
		}
	}
	p.clearOthers(keep, want)
	if len(keep) == 0 && len(want.Search)+len(want.Options) > 0 {
		return p.listsOnly(want)
	}
	return nil
}

// canMoveResolver says that servers that are global can go to interfaces: the document says all that the global configuration does,
// and gives fixed addresses of each family of the servers to an interface.
func (p *Plan) canMoveResolver(want netstate.Resolver, groups [][]netip.Addr) bool {
	global := p.snap.Global
	said := len(global.Domains) == 1 && (len(global.Searches) == 0 || want.Search != nil) &&
		(len(global.Options) == 0 || want.Options != nil)
	for _, group := range groups {
		f := netstate.FamilyOf(group[0])
		said = said && slices.ContainsFunc(p.want.Interfaces, func(i netstate.Interface) bool {
			ip, goes := f.Of(i), i.State == netstate.StateAbsent || i.State == netstate.StateDown
			return ip.On() && !ip.Auto() && len(ip.Addresses) > 0 && !goes
		})
	}
	return said && len(groups) > 0
}

// setLists writes the lists that the document mentions.
func setLists(c *Change, sec string, want netstate.Resolver) {
	for key, list := range map[string][]string{"dns-search": want.Search, "dns-options": want.Options} {
		switch {
		case len(list) > 0:
			c.After.Set(sec, key, slices.Clone(list))
		case list != nil:
			c.After.Drop(sec, key)
		}
	}
}

// planGlobalResolver plans a change of the global configuration, where one is needed.
func (p *Plan) planGlobalResolver(want netstate.Resolver) error {
	if n := slices.IndexFunc(want.Server, func(s string) bool { return strings.Contains(s, "%") }); n >= 0 {
		return fmt.Errorf("DNS server %s is link-local, and servers that mix the families in their order, or a node with global servers, "+
			"have no interface for it: list the servers of each family together", want.Server[n])
	}
	next := p.snap.Global.With(want)
	if len(next.Domains[profile.AnyDomain].Servers) == 0 {
		next = profile.GlobalDNS{} // with no servers of its own it would hide everybody's
	}
	if !next.Equal(p.snap.Global) {
		p.Global = &next
	}
	if want.Server != nil && !next.Set() {
		p.clearOthers(nil, want) // what it hid comes to light
	}
	return nil
}

// resolverInPlace says that the active profiles, as planned so far, already give these servers.
func (p *Plan) resolverInPlace(want netstate.Resolver) bool {
	s := &profile.Snapshot{Devices: slices.Clone(p.snap.Devices), Profiles: slices.Clone(p.snap.Profiles)}
	for n, d := range s.Devices {
		if c, ok := p.findReplacement(d.Name); ok && d.Active != nil {
			s.Devices[n].Active = &profile.Active{UUID: c.UUID}
			s.Profiles = append(s.Profiles, profile.Profile{Settings: c.After})
		}
	}
	for _, c := range p.Changes {
		for i := range s.Profiles {
			if s.Profiles[i].Settings.UUID() == c.UUID {
				s.Profiles[i].Settings = c.After
			}
		}
	}
	have := profile.ConfiguredResolver(s)
	return (want.Server == nil || netstate.SameServers(want.Server, have.Server)) &&
		(want.Search == nil || slices.Equal(want.Search, have.Search)) &&
		(want.Options == nil || slices.Equal(slices.Sorted(slices.Values(want.Options)), slices.Sorted(slices.Values(have.Options))))
}

// byFamily splits the list in two runs of one family each; false where it has more runs.
func byFamily(servers []string) (first, second []netip.Addr, ok bool) {
	for _, s := range servers {
		a, err := netip.ParseAddr(s)
		if err != nil {
			return nil, nil, false
		}
		switch {
		case len(first) == 0 || (len(second) == 0 && netstate.FamilyOf(a) == netstate.FamilyOf(first[0])):
			first = append(first, a)
		case netstate.FamilyOf(a) != netstate.FamilyOf(first[0]):
			second = append(second, a)
		default:
			return nil, nil, false
		}
	}
	return first, second, true
}

// errNoHolder says that no interface has the family of something that belongs to no interface.
var errNoHolder = errors.New("no interface has the family enabled")

// findServersHolders finds a profile for the servers of each group, all of one family.
func (p *Plan) findServersHolders(groups [][]netip.Addr) ([]*Change, error) {
	var out []*Change
	for _, group := range groups {
		c, err := p.findServersHolder(group)
		if err != nil {
			return nil, fmt.Errorf("find an interface to reach DNS server %s by: %w", group[0], err)
		}
		out = append(out, c)
	}
	return out, nil
}

// findServersHolder finds the profile to carry servers of one family: that of the interface which a link-local one is reached over.
func (p *Plan) findServersHolder(group []netip.Addr) (*Change, error) {
	zone := ""
	for _, a := range group {
		if zone != "" && a.Zone() != "" && a.Zone() != zone {
			return nil, fmt.Errorf("link-local servers on %s and on %s cannot be kept in one order: name those of one interface",
				zone, a.Zone())
		}
		zone = cmp.Or(zone, a.Zone())
	}
	if zone == "" {
		return p.findHolder(netstate.FamilyOf(group[0]))
	}
	c, err := p.ensureChange(netstate.Interface{Name: zone})
	if err != nil {
		return nil, fmt.Errorf("use interface %s, which link-local servers are on: %w", zone, err)
	}
	if m := profile.Value[string](c.After, profile.Section(netstate.IPv6), "method"); m == "" || m == "disabled" || m == "ignore" {
		return nil, fmt.Errorf("interface %s, which link-local servers are on, has IPv6 disabled: enable ipv6 there", zone)
	}
	return c, nil
}

// findHolder finds the profile to carry the family's servers, or routes that belong to no interface: one the document gives
// fixed addresses, any it enables, the one that holds servers now, the default route's.
func (p *Plan) findHolder(f netstate.Family) (*Change, error) {
	var candidates []string
	for pass := 0; pass < 2; pass++ {
		for _, i := range p.want.Interfaces {
			ip := f.Of(i)
			if ip.On() && i.State != netstate.StateAbsent && i.State != netstate.StateDown && (pass == 1 || !ip.Auto()) {
				candidates = append(candidates, i.Name)
			}
		}
	}
	for _, d := range p.snap.Devices {
		if pr, ok := p.snap.ActiveOn(d.Name); ok && len(profile.ServersOf(pr.Settings, profile.Section(f))) > 0 {
			candidates = append(candidates, d.Name)
		}
	}
	if r, ok := netstate.DefaultRoute(p.now, f, ""); ok {
		candidates = append(candidates, r.NextHopInterface)
	}
	for _, name := range candidates {
		c, err := p.ensureChange(netstate.Interface{Name: name})
		if err != nil {
			continue
		}
		if m := profile.Value[string](c.After, profile.Section(f), "method"); m == "manual" || m == "auto" || m == "dhcp" {
			return c, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", f, errNoHolder)
}

// listsOnly changes the search domains and the options, and leaves the servers where they are.
func (p *Plan) listsOnly(want netstate.Resolver) error {
	families := []netstate.Family{netstate.IPv6, netstate.IPv4} // nmstate's order
	if len(profile.ConfiguredResolver(p.snap).Server) > 0 {
		slices.Reverse(families) // beside the servers, of which those of IPv4 are looked for first
	}
	for _, f := range families {
		c, err := p.findHolder(f)
		if err != nil {
			continue
		}
		setLists(c, profile.Section(f), want)
		want.Server = nil
		p.clearOthers([]string{c.Iface + "/" + profile.Section(f)}, want)
		return nil
	}
	return p.planGlobalResolver(want)
}

// clearOthers takes the lists that the document mentions from all active profiles but the holders.
func (p *Plan) clearOthers(keep []string, want netstate.Resolver) {
	p.eachActive(func(c *Change, key, sec string) {
		if slices.Contains(keep, key) {
			return
		}
		if want.Server != nil && len(profile.ServersOf(c.formerSettings(), sec)) > 0 {
			c.After.Drop(sec, "dns-data", "dns-priority")
		}
		if want.Search != nil {
			c.After.Drop(sec, "dns-search")
		}
		if want.Options != nil {
			c.After.Drop(sec, "dns-options")
		}
	})
}

// eachActive calls fn for both families of every profile that is active and holds any resolver settings.
func (p *Plan) eachActive(fn func(c *Change, key, sec string)) {
	for _, d := range p.snap.Devices {
		pr, ok := p.snap.ActiveOn(d.Name)
		if !ok {
			continue
		}
		for _, sec := range []string{"ipv4", "ipv6"} {
			if len(profile.ServersOf(pr.Settings, sec)) == 0 && len(profile.Value[[]string](pr.Settings, sec, "dns-search")) == 0 &&
				len(profile.Value[[]string](pr.Settings, sec, "dns-options")) == 0 {
				continue
			}
			if c := p.changeActive(pr, d.Name); c.Before != nil || c.From != nil {
				fn(c, d.Name+"/"+sec, sec)
			}
		}
	}
}

// addressTexts leaves zones out: for NetworkManager that of a link-local server is the interface of its profile.
func addressTexts(all []netip.Addr) []string {
	var out []string
	for _, a := range all {
		out = append(out, a.WithZone("").String())
	}
	return out
}
