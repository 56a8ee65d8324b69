package plan

import (
	"errors"
	"fmt"
	"slices"

	"github.com/godbus/dbus/v5"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// firstPriority is where rules without a priority are numbered from, as nmstate does.
const firstPriority = 30000

// planRules puts the document's rules into profiles: removals concern every active profile, additions go to one.
func (p *Plan) planRules(config []netstate.RouteRule) error {
	var removals []netstate.RouteRule
	for _, r := range config {
		if r.State == netstate.StateAbsent {
			removals = append(removals, r)
		}
	}
	if len(removals) > 0 {
		p.removeRules(removals)
	}
	for _, r := range config {
		if r.State == netstate.StateAbsent || p.ruleInPlace(r) {
			continue
		}
		if err := p.addRule(r); err != nil {
			return fmt.Errorf("route rule: %w", err)
		}
	}
	return nil
}

// removeRules drops what the orders match from all active profiles.
func (p *Plan) removeRules(orders []netstate.RouteRule) {
	for _, d := range p.snap.Devices {
		pr, ok := p.snap.ActiveOn(d.Name)
		if !ok {
			continue
		}
		for _, sec := range []string{"ipv4", "ipv6"} {
			have := pr.Settings.Dicts(sec, "routing-rules")
			keep := slices.DeleteFunc(slices.Clone(have), func(e map[string]dbus.Variant) bool {
				return slices.ContainsFunc(orders, func(o netstate.RouteRule) bool { return ruleMatches(o, profile.Rule(e)) })
			})
			if len(keep) == len(have) {
				continue
			}
			c := p.changeActive(pr, d.Name)
			if len(keep) == 0 {
				c.After.Drop(sec, "routing-rules")
			} else {
				c.After.Set(sec, "routing-rules", keep)
			}
		}
	}
}

// ruleMatches says that an order to remove applies: every field that it names is equal.
func ruleMatches(order, have netstate.RouteRule) bool {
	text := func(want, got *string) bool {
		if want == nil {
			return true
		}
		if *want == "" || got == nil {
			return *want == "" && got == nil
		}
		return samePrefix(*want, *got)
	}
	return text(order.IPFrom, have.IPFrom) && text(order.IPTo, have.IPTo) &&
		(order.Family == "" || order.Family == have.Family) &&
		(order.Priority == 0 || order.Priority == have.Priority) &&
		(order.RouteTable == 0 || order.RouteTable == have.RouteTable) &&
		(order.IIF == "" || order.IIF == have.IIF) && (order.Action == "" || order.Action == have.Action) &&
		(order.FwMark == nil || have.FwMark != nil && *order.FwMark == *have.FwMark) &&
		(order.FwMask == nil || have.FwMask != nil && *order.FwMask == *have.FwMask) &&
		(order.SuppressPfx == nil || have.SuppressPfx != nil && *order.SuppressPfx == *have.SuppressPfx)
}

func samePrefix(a, b string) bool {
	pa, errA := netstate.ParseDestination(a)
	pb, errB := netstate.ParseDestination(b)
	return errA == nil && errB == nil && pa == pb
}

// ruleInPlace says that a profile, as planned so far, has the rule.
func (p *Plan) ruleInPlace(r netstate.RouteRule) bool {
	for _, s := range p.plannedProfiles() {
		for _, sec := range []string{"ipv4", "ipv6"} {
			for _, e := range s.Dicts(sec, "routing-rules") {
				if ruleMatches(r, profile.Rule(e)) && ruleMatches(withoutPriority(profile.Rule(e)), withoutPriority(r)) {
					return true
				}
			}
		}
	}
	return false
}

func withoutPriority(r netstate.RouteRule) netstate.RouteRule {
	r.Priority, r.Family, r.Action = 0, "", ""
	if r.FwMark != nil && r.FwMask == nil {
		r.FwMask = new(netstate.Mark(0xffffffff)) // NetworkManager spells it out
	}
	if r.RouteTable == netstate.MainTable {
		r.RouteTable = 0
	}
	return r
}

// plannedProfiles are the active profiles as they will be.
func (p *Plan) plannedProfiles() []profile.Settings {
	var out []profile.Settings
	for _, c := range p.Changes {
		if c.Action == ActUp {
			out = append(out, c.After)
		}
	}
	for _, d := range p.snap.Devices {
		pr, ok := p.snap.ActiveOn(d.Name)
		if _, replaced := p.findReplacement(d.Name); replaced {
			continue
		}
		if ok && !slices.ContainsFunc(p.Changes, func(c *Change) bool { return c.UUID == pr.Settings.UUID() }) {
			out = append(out, pr.Settings)
		}
	}
	return out
}

func (p *Plan) addRule(r netstate.RouteRule) error {
	f, err := ruleFamily(r)
	if err != nil {
		return err
	}
	c, err := p.ruleHolder(r, f)
	if err != nil {
		return err
	}
	if r.Priority == 0 {
		r.Priority = p.freePriority()
	}
	e, err := profile.RuleEntry(r, f)
	if err != nil {
		return err
	}
	sec := profile.Section(f)
	c.After.Set(sec, "routing-rules", append(slices.Clone(c.After.Dicts(sec, "routing-rules")), e))
	return nil
}

func ruleFamily(r netstate.RouteRule) (netstate.Family, error) {
	for _, text := range []*string{r.IPFrom, r.IPTo} {
		if text == nil || *text == "" {
			continue
		}
		pfx, err := netstate.ParseDestination(*text)
		if err != nil {
			return 0, fmt.Errorf("parse the family of a rule: %w", err)
		}
		return netstate.FamilyOf(pfx.Addr()), nil
	}
	switch r.Family {
	case "ipv4":
		return netstate.IPv4, nil
	case "ipv6":
		return netstate.IPv6, nil
	}
	return 0, errors.New("one of ip-from, ip-to and family is needed")
}

// ruleHolder picks the profile: the rule's own interface, one of the document with a route in its table, one of the document,
// loopback's: interfaces that the document does not mention stay as they are, as with nmstate. Where NetworkManager does not manage
// loopback it is that of the default route, or any.
func (p *Plan) ruleHolder(r netstate.RouteRule, f netstate.Family) (*Change, error) {
	if c, err := p.firstWith(p.ruleInterfaces(r, f), f); c != nil || err != nil {
		return c, err
	}
	if c, err := p.loopback(); err == nil {
		return c, nil
	}
	var names []string
	if d, ok := netstate.DefaultRoute(p.now, f, ""); ok {
		names = append(names, d.NextHopInterface)
	}
	for _, d := range p.snap.Devices {
		names = append(names, d.Name)
	}
	if c, err := p.firstWith(names, f); c != nil || err != nil {
		return c, err
	}
	return nil, fmt.Errorf("no interface has %s enabled to keep the rule with", f)
}

// ruleInterfaces are the interfaces of the document whose profiles may have the rule, the best first.
func (p *Plan) ruleInterfaces(r netstate.RouteRule, f netstate.Family) (names []string) {
	if r.IIF != "" {
		names = append(names, r.IIF)
	}
	var routes []netstate.Route
	if p.want.Routes != nil {
		routes = append(routes, p.want.Routes.Config...)
	}
	if p.now.Routes != nil {
		routes = append(routes, slices.DeleteFunc(slices.Clone(p.now.Routes.Running), func(o netstate.Route) bool {
			_, mentioned := carrierOf(p.want, o.NextHopInterface)
			return !mentioned
		})...)
	}
	for _, o := range routes {
		if fam, _ := o.Family(); !o.Removes() && fam == f && r.RouteTable != 0 && o.Table() == r.RouteTable {
			names = append(names, o.NextHopInterface)
		}
	}
	for _, i := range p.want.Interfaces {
		if f.Of(i).On() && i.State != netstate.StateAbsent && i.State != netstate.StateDown {
			names = append(names, i.Name)
		}
	}
	return names
}

// firstWith is the change of the first of these interfaces whose profile has the family enabled; nil for none.
func (p *Plan) firstWith(names []string, f netstate.Family) (*Change, error) {
	for _, name := range names {
		pr, active := p.snap.ActiveOn(name)
		if !active && !p.isPlanned(name) {
			continue
		}
		method := profile.Value[string](pr.Settings, profile.Section(f), "method")
		if c, err := p.ensureChange(netstate.Interface{Name: name}); p.isPlanned(name) && err == nil {
			method = profile.Value[string](c.After, profile.Section(f), "method")
		}
		if method != "manual" && method != "auto" && method != "dhcp" {
			continue
		}
		return p.ensureChange(netstate.Interface{Name: name})
	}
	return nil, nil
}

// freePriority is the first number from firstPriority on that no rule has.
func (p *Plan) freePriority() int {
	used := map[int]bool{}
	for _, s := range p.plannedProfiles() {
		for _, sec := range []string{"ipv4", "ipv6"} {
			for _, e := range s.Dicts(sec, "routing-rules") {
				used[profile.Rule(e).Priority] = true
			}
		}
	}
	n := firstPriority
	for used[n] {
		n++
	}
	return n
}
