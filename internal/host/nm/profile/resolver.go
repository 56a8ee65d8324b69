package profile

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// GlobalDNS is NetworkManager's GlobalDnsConfiguration. Where it is set it hides the
// servers of all profiles. NetworkManager writes it to disk at once (1.42 has no other
// way) and its checkpoints know of it from 1.48 on only, so the journal carries it.
type GlobalDNS struct {
	Searches []string                `json:"searches,omitempty"`
	Options  []string                `json:"options,omitempty"`
	Domains  map[string]GlobalDomain `json:"domains,omitempty"` // "*" is the one that counts here
}

// GlobalDomain is the resolver configuration for one domain.
type GlobalDomain struct {
	Servers []string `json:"servers,omitempty"`
	Options []string `json:"options,omitempty"`
}

// AnyDomain is the key of the servers for all names.
const AnyDomain = "*"

// Set says that the profiles' own servers are hidden.
func (g GlobalDNS) Set() bool { return len(g.Domains) > 0 }

// Equal compares what the adapter may change.
func (g GlobalDNS) Equal(o GlobalDNS) bool {
	return slices.Equal(g.Searches, o.Searches) && slices.Equal(g.Options, o.Options) &&
		len(g.Domains) == len(o.Domains) && slices.Equal(g.Domains[AnyDomain].Servers, o.Domains[AnyDomain].Servers)
}

// With replaces servers, search domains and options; nil keeps what there is.
func (g GlobalDNS) With(want netstate.Resolver) GlobalDNS {
	out := GlobalDNS{Searches: g.Searches, Options: g.Options, Domains: map[string]GlobalDomain{}}
	for name, d := range g.Domains {
		out.Domains[name] = d
	}
	if want.Search != nil {
		out.Searches = slices.Clone(want.Search)
	}
	if want.Options != nil {
		out.Options = slices.Clone(want.Options)
	}
	if want.Server != nil {
		out.Domains[AnyDomain] = GlobalDomain{Servers: slices.Clone(want.Server), Options: g.Domains[AnyDomain].Options}
	}
	return out
}

// Resolver is the configuration in nmstate's form.
func (g GlobalDNS) Resolver() *netstate.Resolver {
	return &netstate.Resolver{Server: g.Domains[AnyDomain].Servers, Search: g.Searches, Options: g.Options}
}

// ConfiguredResolver joins what the active profiles say, by priority.
func ConfiguredResolver(s *Snapshot) *netstate.Resolver {
	type entry struct {
		priority                 int32
		servers, search, options []string
	}
	var entries []entry
	for _, d := range s.Devices {
		p, ok := s.ActiveOn(d.Name)
		if !ok || d.Active == nil {
			continue
		}
		for _, section := range []string{"ipv4", "ipv6"} {
			e := entry{dnsPriority(p.Settings, section), WithZones(ServersOf(p.Settings, section), d.Name),
				Value[[]string](p.Settings, section, "dns-search"), Value[[]string](p.Settings, section, "dns-options")}
			if len(e.servers)+len(e.search)+len(e.options) > 0 {
				entries = append(entries, e)
			}
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.priority, b.priority) })
	out := &netstate.Resolver{}
	for _, e := range entries {
		out.Server = AppendNew(out.Server, e.servers)
		out.Search = AppendNew(out.Search, e.search)
		out.Options = AppendNew(out.Options, e.options)
	}
	return out
}

// dnsPriority is the precedence of a profile's servers; smaller comes first. 0 stands
// for NetworkManager's default.
func dnsPriority(s Settings, section string) int32 {
	if p := Value[int32](s, section, "dns-priority"); p != 0 {
		return p
	}
	return 100
}

// WithZones are the servers of an interface as the rest of the node knows them: NetworkManager keeps those with a link-local address
// without their zone, which is the interface.
func WithZones(servers []string, iface string) []string {
	out := slices.Clone(servers)
	for n, s := range out {
		if a, err := netip.ParseAddr(s); err == nil && a.Is6() && a.IsLinkLocalUnicast() && a.Zone() == "" {
			out[n] = a.WithZone(iface).String()
		}
	}
	return out
}

// AppendNew appends the entries that the list lacks.
func AppendNew(list, more []string) []string {
	for _, m := range more {
		if !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}

// ServersOf reads a profile's servers, new style or old.
func ServersOf(s Settings, sec string) []string {
	if v := Value[[]string](s, sec, "dns-data"); len(v) > 0 {
		return v
	}
	var out []string
	for _, n := range Value[[]uint32](s, sec, "dns") {
		var b [4]byte
		binary.NativeEndian.PutUint32(b[:], n) // network order in memory
		out = append(out, netip.AddrFrom4(b).String())
	}
	for _, b := range Value[[][]byte](s, sec, "dns") {
		if a, ok := netip.AddrFromSlice(b); ok {
			out = append(out, a.String())
		}
	}
	return out
}
