package ipam

import (
	"fmt"
	"net/netip"
	"strings"

	"go4.org/netipx"
)

// ParseAddr reads an address in its canonical form: an IPv4 address in IPv6 clothing
// is IPv4, and two spellings of one address are one address. Zones are refused: an
// address of a pool belongs to a network, not to an interface.
func ParseAddr(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(strings.TrimSpace(s))
	if err != nil {
		return netip.Addr{}, fmt.Errorf("%q is not an IP address", s)
	}
	if a.Zone() != "" {
		return netip.Addr{}, fmt.Errorf("address %q has a zone, which a pool has no use for", s)
	}
	return a.Unmap(), nil
}

// ParseSpan reads what an exclusion may be: an address, a CIDR, or "first-last".
func ParseSpan(s string) (netipx.IPRange, error) {
	if first, last, ok := strings.Cut(s, "-"); ok {
		return spanBetween(first, last)
	}
	if strings.Contains(s, "/") {
		p, err := ParseSubnet(s)
		if err != nil {
			return netipx.IPRange{}, err
		}
		return netipx.RangeOfPrefix(p.Masked()), nil
	}
	a, err := ParseAddr(s)
	if err != nil {
		return netipx.IPRange{}, fmt.Errorf("%q is neither an address, a CIDR nor a range first-last", s)
	}
	return netipx.IPRangeFrom(a, a), nil
}

func spanBetween(first, last string) (netipx.IPRange, error) {
	from, err := ParseAddr(first)
	if err != nil {
		return netipx.IPRange{}, err
	}
	to, err := ParseAddr(last)
	if err != nil {
		return netipx.IPRange{}, err
	}
	if err := checkOrder(from, to); err != nil {
		return netipx.IPRange{}, err
	}
	return netipx.IPRangeFrom(from, to), nil
}

// ParseSubnet reads a CIDR. Bits of the host are kept: the range of a pool begins after the address that they make.
func ParseSubnet(s string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(strings.TrimSpace(s))
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%q is not a CIDR", s)
	}
	if p.Addr().Is4In6() {
		return netip.Prefix{}, fmt.Errorf("%q is an IPv4 network in IPv6 clothing", s)
	}
	return p, nil
}

// checkOrder says why two addresses are not the ends of a range.
func checkOrder(from, to netip.Addr) error {
	if from.Is4() != to.Is4() {
		return fmt.Errorf("range %s-%s mixes IPv4 and IPv6", from, to)
	}
	if to.Less(from) {
		return fmt.Errorf("range %s-%s is reversed: it ends before it starts", from, to)
	}
	return nil
}

// span is a stretch of addresses as numbers, both ends included. Range says which of
// the pool's ranges it lies in, so that ranges are used in the order they are given.
type span struct {
	rng      int32
	from, to Count
}

func (s span) size() Count           { return s.to.sub(s.from).next() }
func (s span) contains(n Count) bool { return !n.less(s.from) && !s.to.less(n) }
func (s span) overlaps(t span) bool  { return !s.to.less(t.from) && !t.to.less(s.from) }
func bySpan(a, b span) bool          { return a.rng < b.rng || a.rng == b.rng && a.from.less(b.from) }
func spanOf(r netipx.IPRange) span   { return span{from: numberOf(r.From()), to: numberOf(r.To())} }
func familyWord(v4 bool) string      { return map[bool]string{true: "IPv4", false: "IPv6"}[v4] }
func rangeWord(r netipx.IPRange) string {
	if r.From() == r.To() {
		return r.From().String()
	}
	return r.String()
}

// subtract is what is left of s without t.
func (s span) subtract(t span) (left []span) {
	if !s.overlaps(t) {
		return []span{s}
	}
	if s.from.less(t.from) {
		left = append(left, span{s.rng, s.from, t.from.prev()})
	}
	if t.to.less(s.to) {
		left = append(left, span{s.rng, t.to.next(), s.to})
	}
	return left
}
