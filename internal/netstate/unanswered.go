package netstate

import "slices"

// Unanswered says in sentences which interfaces of a document ask a network for addresses and have none from it yet. Such an interface
// is in place: it goes on asking.
func Unanswered(want, got Document) []string {
	var out []string
	for _, w := range want.Interfaces {
		have, ok := findObserved(got, w)
		if !ok || w.State == StateAbsent || w.State == StateDown || w.State == StateIgnore {
			continue
		}
		for _, f := range []Family{IPv4, IPv6} {
			if ip := f.Of(w); ip.Auto() && f.Of(have).Auto() && !isAnswered(ip, f.Of(have)) {
				out = append(out, have.Name+": "+askedOf(f, ip))
			}
		}
	}
	return out
}

// isAnswered says that a family has an address that the document does not give it.
func isAnswered(want, have *IP) bool {
	fixed, err := want.Prefixes()
	if err != nil {
		return true
	}
	return slices.ContainsFunc(have.canonical().Addresses, func(a Address) bool {
		p, err := a.Prefix()
		return a.Leased || a.Dynamic() || err == nil && !slices.Contains(fixed, p)
	})
}

// askedOf is what is missing, by what was asked.
func askedOf(f Family, ip *IP) string {
	switch {
	case f == IPv4:
		return "no DHCP answer yet"
	case isTrue(ip.Autoconf) || ip.Autoconf == nil:
		return "no IPv6 router or DHCP answer yet"
	default:
		return "no DHCP answer for IPv6 yet"
	}
}
