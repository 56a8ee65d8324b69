package nm

import (
	"context"
	"slices"

	"github.com/godbus/dbus/v5"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// globalDNS is NetworkManager's GlobalDnsConfiguration. Where it is set it hides the
// servers of all profiles. NetworkManager writes it to disk at once (1.42 has no other
// way) and its checkpoints know of it from 1.48 on only, so the journal carries it.
type globalDNS struct {
	Searches []string                `json:"searches,omitempty"`
	Options  []string                `json:"options,omitempty"`
	Domains  map[string]globalDomain `json:"domains,omitempty"` // "*" is the one that counts here
}

type globalDomain struct {
	Servers []string `json:"servers,omitempty"`
	Options []string `json:"options,omitempty"`
}

const anyDomain = "*"

// set says that the profiles' own servers are hidden.
func (g globalDNS) set() bool { return len(g.Domains) > 0 }

func (g globalDNS) equal(o globalDNS) bool {
	return slices.Equal(g.Searches, o.Searches) && slices.Equal(g.Options, o.Options) &&
		len(g.Domains) == len(o.Domains) && slices.Equal(g.Domains[anyDomain].Servers, o.Domains[anyDomain].Servers)
}

// with replaces servers and search domains; nil keeps what there is.
func (g globalDNS) with(want netstate.Resolver) globalDNS {
	out := globalDNS{Searches: g.Searches, Options: g.Options, Domains: map[string]globalDomain{}}
	for name, d := range g.Domains {
		out.Domains[name] = d
	}
	if want.Search != nil {
		out.Searches = slices.Clone(want.Search)
	}
	if want.Server != nil {
		out.Domains[anyDomain] = globalDomain{Servers: slices.Clone(want.Server), Options: g.Domains[anyDomain].Options}
	}
	return out
}

func (g globalDNS) resolver() *netstate.Resolver {
	return &netstate.Resolver{Server: g.Domains[anyDomain].Servers, Search: g.Searches}
}

func (c *client) globalDNS(ctx context.Context) (globalDNS, error) {
	p, err := c.properties(ctx, pathManager, ifaceManager)
	if err != nil {
		return globalDNS{}, err
	}
	raw := properties(get[map[string]dbus.Variant](p, "GlobalDnsConfiguration"))
	g := globalDNS{Searches: get[[]string](raw, "searches"), Options: get[[]string](raw, "options")}
	for name, v := range get[map[string]dbus.Variant](raw, "domains") {
		domain, _ := v.Value().(map[string]dbus.Variant)
		if g.Domains == nil {
			g.Domains = map[string]globalDomain{}
		}
		g.Domains[name] = globalDomain{get[[]string](properties(domain), "servers"), get[[]string](properties(domain), "options")}
	}
	return g, nil
}

func (c *client) setGlobalDNS(ctx context.Context, g globalDNS) error {
	raw := map[string]dbus.Variant{}
	if g.set() {
		domains := map[string]dbus.Variant{}
		for name, d := range g.Domains {
			domains[name] = dbus.MakeVariant(map[string]dbus.Variant{
				"servers": dbus.MakeVariant(orEmpty(d.Servers)), "options": dbus.MakeVariant(orEmpty(d.Options)),
			})
		}
		raw["searches"], raw["options"] = dbus.MakeVariant(orEmpty(g.Searches)), dbus.MakeVariant(orEmpty(g.Options))
		raw["domains"] = dbus.MakeVariant(domains)
	}
	args := []any{ifaceManager, "GlobalDnsConfiguration", dbus.MakeVariant(raw)}
	return c.call(ctx, pathManager, "org.freedesktop.DBus.Properties.Set", args)
}

func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
