package nm

import (
	"cmp"
	"context"
	"slices"

	"github.com/godbus/dbus/v5"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// readResolver reports the servers NetworkManager uses now and those its active
// profiles ask for, each in order of precedence.
func (c *client) readResolver(ctx context.Context, s *profile.Snapshot) (*netstate.DNS, error) {
	if s.Global.Set() {
		return &netstate.DNS{Running: s.Global.Resolver(), Config: s.Global.Resolver()}, nil
	}
	p, err := c.readProperties(ctx, pathDNS, ifaceDNS)
	if err != nil {
		return nil, err
	}
	running := &netstate.Resolver{}
	entries := profile.Get[[]map[string]dbus.Variant](p, "Configuration")
	slices.SortStableFunc(entries, func(a, b map[string]dbus.Variant) int {
		return cmp.Compare(profile.Get[int32](a, "priority"), profile.Get[int32](b, "priority"))
	})
	for _, e := range entries {
		servers := profile.WithZones(profile.Get[[]string](e, "nameservers"), profile.Get[string](e, "interface"))
		running.Server = profile.AppendNew(running.Server, servers)
		running.Search = profile.AppendNew(running.Search, profile.Get[[]string](e, "domains"))
	}
	return &netstate.DNS{Running: running, Config: profile.ConfiguredResolver(s)}, nil
}

func (c *client) globalDNS(ctx context.Context) (profile.GlobalDNS, error) {
	p, err := c.readProperties(ctx, pathManager, ifaceManager)
	if err != nil {
		return profile.GlobalDNS{}, err
	}
	raw := properties(profile.Get[map[string]dbus.Variant](p, "GlobalDnsConfiguration"))
	g := profile.GlobalDNS{Searches: profile.Get[[]string](raw, "searches"), Options: profile.Get[[]string](raw, "options")}
	for name, v := range profile.Get[map[string]dbus.Variant](raw, "domains") {
		domain, _ := v.Value().(map[string]dbus.Variant)
		if g.Domains == nil {
			g.Domains = map[string]profile.GlobalDomain{}
		}
		g.Domains[name] = profile.GlobalDomain{
			Servers: profile.Get[[]string](domain, "servers"), Options: profile.Get[[]string](domain, "options"),
		}
	}
	return g, nil
}

func (c *client) setGlobalDNS(ctx context.Context, g profile.GlobalDNS) error {
	raw := map[string]dbus.Variant{}
	if g.Set() {
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
