package netstate

import (
	"fmt"
	"net/netip"
	"strings"
)

// Removes says that the rule is an order to remove the ones it matches.
func (r RouteRule) Removes() bool { return r.State == StateAbsent }

// IPFamily is the family the rule is for: as it says, or that of its addresses.
func (r RouteRule) IPFamily() (Family, bool) {
	switch r.Family {
	case "ipv4":
		return IPv4, true
	case "ipv6":
		return IPv6, true
	}
	for _, s := range []*string{r.IPFrom, r.IPTo} {
		if s == nil {
			continue
		}
		if p, err := ParseDestination(*s); err == nil {
			return FamilyOf(p.Addr()), true
		}
	}
	return 0, false
}

// Table is the table the rule leads to, the main one where none is named.
func (r RouteRule) Table() int {
	if r.RouteTable == 0 {
		return MainTable
	}
	return r.RouteTable
}

// String writes the rule the way ip(8) does.
func (r RouteRule) String() string {
	var s []string
	add := func(key, value string) {
		if value != "" {
			s = append(s, key+" "+value)
		}
	}
	add("from", textOf(r.IPFrom))
	add("to", textOf(r.IPTo))
	add("iif", r.IIF)
	if r.FwMark != nil {
		add("fwmark", fmt.Sprintf("0x%x", uint32(*r.FwMark)))
	}
	if r.FwMask != nil {
		add("fwmask", fmt.Sprintf("0x%x", uint32(*r.FwMask)))
	}
	if r.Action != "" {
		s = append(s, r.Action)
	} else {
		s = append(s, fmt.Sprintf("lookup %d", r.Table()))
	}
	if r.Priority != 0 {
		add("priority", fmt.Sprint(r.Priority))
	}
	return strings.Join(s, " ")
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// wholeMark is the mask that a rule has without one: the kernel shows it.
const wholeMark Mark = 0xffffffff

func (r RouteRule) canonical() RouteRule {
	for _, s := range []**string{&r.IPFrom, &r.IPTo} {
		if *s == nil {
			continue
		}
		if p, err := ParseDestination(**s); err == nil {
			*s = new(p.String())
		} else if **s == "" && !r.Removes() {
			*s = nil
		}
	}
	if f, ok := r.IPFamily(); ok {
		r.Family = strings.ToLower(f.String())
	}
	if r.RouteTable == 0 && r.Action == "" && !r.Removes() {
		r.RouteTable = MainTable
	}
	if r.FwMask != nil && *r.FwMask == wholeMark {
		r.FwMask = nil
	}
	return r
}

// SameRule says that two rules do the same. A priority that one of them leaves to the system is not compared.
func SameRule(a, b RouteRule) bool {
	a, b = a.canonical(), b.canonical()
	return a.Family == b.Family && textOf(a.IPFrom) == textOf(b.IPFrom) && textOf(a.IPTo) == textOf(b.IPTo) && a.IIF == b.IIF &&
		a.Action == b.Action && a.RouteTable == b.RouteTable && sameMark(a.FwMark, b.FwMark) && sameMark(a.FwMask, b.FwMask) &&
		sameInt(a.SuppressPfx, b.SuppressPfx) && (a.Priority == 0 || b.Priority == 0 || a.Priority == b.Priority)
}

func sameMark(a, b *Mark) bool { return a == b || a != nil && b != nil && *a == *b }

func sameInt(a, b *int) bool { return a == b || a != nil && b != nil && *a == *b }

// Matches says that the removal order r applies to the rule have: every field that the order mentions is equal, and
// an address that is mentioned and empty matches only rules without one.
func (r RouteRule) Matches(have RouteRule) bool {
	have = have.canonical()
	if r.Family != "" && r.Family != have.Family || !r.matchesPrefix(r.IPFrom, have.IPFrom) || !r.matchesPrefix(r.IPTo, have.IPTo) {
		return false
	}
	return (r.Priority == 0 || r.Priority == have.Priority) && (r.RouteTable == 0 || r.RouteTable == have.RouteTable) &&
		(r.FwMark == nil || sameMark(r.FwMark, have.FwMark)) && (r.FwMask == nil || sameMark(r.FwMask, have.FwMask)) &&
		(r.IIF == "" || r.IIF == have.IIF) && (r.Action == "" || r.Action == have.Action) &&
		(r.SuppressPfx == nil || sameInt(r.SuppressPfx, have.SuppressPfx))
}

func (RouteRule) matchesPrefix(order, have *string) bool {
	if order == nil {
		return true
	}
	return canonicalPrefix(*order) == canonicalPrefix(textOf(have))
}

func canonicalPrefix(s string) netip.Prefix {
	p, err := ParseDestination(s)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

// MergeRules gives the rules that result from applying a document's route-rules.config to what is there: removals
// first, then additions of what is not there yet.
func MergeRules(have, config []RouteRule) []RouteRule {
	var out []RouteRule
	for _, h := range have {
		if !anyRule(config, func(c RouteRule) bool { return c.Removes() && c.Matches(h) }) {
			out = append(out, h)
		}
	}
	for _, c := range config {
		if !c.Removes() && !anyRule(out, func(o RouteRule) bool { return SameRule(o, c) }) {
			out = append(out, c)
		}
	}
	return out
}

func anyRule(all []RouteRule, is func(RouteRule) bool) bool {
	for _, r := range all {
		if is(r) {
			return true
		}
	}
	return false
}
