package nm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Precedence of a profile's servers: the family listed first wins.
const (
	dnsFirst  int32 = 40
	dnsSecond int32 = 50
)

// resolver places the servers. NetworkManager keeps servers per profile and family, so
// each family gets one holder, and every other active profile gives up its own. A list
// that mixes the families cannot be kept in order that way and goes into the global
// configuration, and so does every list where that is in use already.
func (p *planner) resolver(want netstate.Resolver) error {
	if p.snap.global.set() {
		return p.globally(want)
	}
	if p.resolverInPlace(want) {
		return nil
	}
	first, second, inOrder := byFamily(want.Server)
	if !inOrder {
		return p.globally(want)
	}
	var keep []string // sections that hold servers, as "iface/section"
	for n, group := range [][]netip.Addr{first, second} {
		if len(group) == 0 {
			continue
		}
		c, err := p.holder(netstate.FamilyOf(group[0]))
		if err != nil {
			return err
		}
		sec := section(netstate.FamilyOf(group[0]))
		keep = append(keep, c.iface+"/"+sec)
		c.after.set(sec, "dns-data", texts(group))
		c.after.set(sec, "dns-priority", []int32{dnsFirst, dnsSecond}[n])
		if want.Search != nil && n == 0 {
			c.after.set(sec, "dns-search", slices.Clone(want.Search))
		}
	}
	if want.Server == nil {
		return p.searchOnly(want)
	}
	p.clearOthers(keep, want.Search != nil)
	return nil
}

// globally plans a change of the global configuration, where one is needed.
func (p *planner) globally(want netstate.Resolver) error {
	next := p.snap.global.with(want)
	if len(next.Domains[anyDomain].Servers) == 0 {
		next = globalDNS{} // with no servers of its own it would hide everybody's
	}
	if !next.equal(p.snap.global) {
		p.global = &next
	}
	return nil
}

// resolverInPlace says that the active profiles, as planned so far, already give these servers.
func (p *planner) resolverInPlace(want netstate.Resolver) bool {
	s := &snapshot{devices: p.snap.devices, profiles: slices.Clone(p.snap.profiles)}
	for _, c := range p.changes {
		for i := range s.profiles {
			if s.profiles[i].settings.uuid() == c.uuid {
				s.profiles[i].settings = c.after
			}
		}
	}
	have := configuredResolver(s)
	return (want.Server == nil || netstate.SameServers(want.Server, have.Server)) &&
		(want.Search == nil || slices.Equal(want.Search, have.Search))
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

// holder finds the profile to carry the family's servers: one the document gives
// fixed addresses, any it enables, the one that holds servers now, the default route's.
func (p *planner) holder(f netstate.Family) (*change, error) {
	var candidates []string
	for pass := 0; pass < 2; pass++ {
		for _, i := range p.want.Interfaces {
			ip := f.Of(i)
			if ip != nil && ip.Enabled && i.State != netstate.StateAbsent && i.State != netstate.StateDown && (pass == 1 || !ip.Auto()) {
				candidates = append(candidates, i.Name)
			}
		}
	}
	for _, d := range p.snap.devices {
		if pr, ok := p.snap.activeOn(d.name); ok && len(serversOf(pr.settings, section(f))) > 0 {
			candidates = append(candidates, d.name)
		}
	}
	if r, ok := netstate.DefaultRoute(p.now, f, ""); ok {
		candidates = append(candidates, r.NextHopInterface)
	}
	for _, name := range candidates {
		c, err := p.change(netstate.Interface{Name: name})
		if err != nil {
			continue
		}
		if m := value[string](c.after, section(f), "method"); m == "manual" || m == "auto" || m == "dhcp" {
			return c, nil
		}
	}
	return nil, fmt.Errorf("DNS: no interface has %s enabled to reach a server by", f)
}

// searchOnly changes the search list and leaves the servers where they are.
func (p *planner) searchOnly(want netstate.Resolver) error {
	for _, f := range []netstate.Family{netstate.IPv4, netstate.IPv6} {
		c, err := p.holder(f)
		if err != nil {
			continue
		}
		c.after.set(section(f), "dns-search", slices.Clone(want.Search))
		p.clearSearch(c.iface + "/" + section(f))
		return nil
	}
	return errors.New("DNS: no interface to keep the search domains with")
}

// clearOthers takes servers (and search domains) from all active profiles but the holders.
func (p *planner) clearOthers(keep []string, search bool) {
	p.eachActive(func(c *change, key, sec string) {
		if slices.Contains(keep, key) {
			return
		}
		if len(serversOf(c.before.settings, sec)) > 0 {
			c.after.drop(sec, "dns-data", "dns-priority")
		}
		if search {
			c.after.drop(sec, "dns-search")
		}
	})
}

func (p *planner) clearSearch(keep string) {
	p.eachActive(func(c *change, key, sec string) {
		if key != keep {
			c.after.drop(sec, "dns-search")
		}
	})
}

// eachActive calls fn for both families of every profile that is active and holds any resolver settings.
func (p *planner) eachActive(fn func(c *change, key, sec string)) {
	for _, d := range p.snap.devices {
		pr, ok := p.snap.activeOn(d.name)
		if !ok {
			continue
		}
		for _, sec := range []string{"ipv4", "ipv6"} {
			if len(serversOf(pr.settings, sec)) == 0 && len(value[[]string](pr.settings, sec, "dns-search")) == 0 {
				continue
			}
			if c := p.changeOf(pr, d.name); c.before != nil {
				fn(c, d.name+"/"+sec, sec)
			}
		}
	}
}

// serversOf reads a profile's servers, new style or old.
func serversOf(s settings, sec string) []string {
	if v := value[[]string](s, sec, "dns-data"); len(v) > 0 {
		return v
	}
	var out []string
	for _, n := range value[[]uint32](s, sec, "dns") {
		var b [4]byte
		binary.NativeEndian.PutUint32(b[:], n) // network order in memory
		out = append(out, netip.AddrFrom4(b).String())
	}
	for _, b := range value[[][]byte](s, sec, "dns") {
		if a, ok := netip.AddrFromSlice(b); ok {
			out = append(out, a.String())
		}
	}
	return out
}

func texts(all []netip.Addr) []string {
	var out []string
	for _, a := range all {
		out = append(out, a.String())
	}
	return out
}
