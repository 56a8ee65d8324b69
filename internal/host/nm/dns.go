package nm

import (
	"cmp"
	"context"
	"slices"

	"github.com/godbus/dbus/v5"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// resolver reports the servers NetworkManager uses now and those its active
// profiles ask for, each in order of precedence.
func (c *client) resolver(ctx context.Context, s *snapshot) (*netstate.DNS, error) {
	if s.global.set() {
		return &netstate.DNS{Running: s.global.resolver(), Config: s.global.resolver()}, nil
	}
	p, err := c.properties(ctx, pathDNS, ifaceDNS)
	if err != nil {
		return nil, err
	}
	running := &netstate.Resolver{}
	entries := get[[]map[string]dbus.Variant](p, "Configuration")
	slices.SortStableFunc(entries, func(a, b map[string]dbus.Variant) int {
		return cmp.Compare(get[int32](a, "priority"), get[int32](b, "priority"))
	})
	for _, e := range entries {
		running.Server = appendNew(running.Server, get[[]string](e, "nameservers"))
		running.Search = appendNew(running.Search, get[[]string](e, "domains"))
	}
	return &netstate.DNS{Running: running, Config: configuredResolver(s)}, nil
}

// configuredResolver joins what the active profiles say, by priority.
func configuredResolver(s *snapshot) *netstate.Resolver {
	type entry struct {
		priority        int32
		servers, search []string
	}
	var entries []entry
	for _, d := range s.devices {
		p, ok := s.activeOn(d.name)
		if !ok || d.active == nil {
			continue
		}
		for _, section := range []string{"ipv4", "ipv6"} {
			e := entry{dnsPriority(p.settings, section), serversOf(p.settings, section), value[[]string](p.settings, section, "dns-search")}
			if len(e.servers)+len(e.search) > 0 {
				entries = append(entries, e)
			}
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.priority, b.priority) })
	out := &netstate.Resolver{}
	for _, e := range entries {
		out.Server = appendNew(out.Server, e.servers)
		out.Search = appendNew(out.Search, e.search)
	}
	return out
}

// dnsPriority is the precedence of a profile's servers; smaller comes first. 0 stands
// for NetworkManager's default.
func dnsPriority(s settings, section string) int32 {
	if p := value[int32](s, section, "dns-priority"); p != 0 {
		return p
	}
	return 100
}

func appendNew(list, more []string) []string {
	for _, m := range more {
		if !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}
