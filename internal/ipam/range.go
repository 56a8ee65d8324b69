package ipam

import (
	"fmt"
	"net/netip"

	"go4.org/netipx"
)

// bounds resolves what a range left out. An open end stops where the subnet or the
// prefix stops; it never runs into the neighbour's network.
func (s Spec) bounds(r Range) (netipx.IPRange, error) {
	around, err := s.around(r)
	if err != nil {
		return netipx.IPRange{}, err
	}
	from, to := r.Start, r.End
	if !from.IsValid() {
		from = around.From()
	}
	if !to.IsValid() {
		to = around.To()
	}
	if err := ordered(from, to); err != nil {
		return netipx.IPRange{}, err
	}
	return netipx.IPRangeFrom(from, to), nil
}

// around is the network a range lies in: its subnet, or the prefix around its ends.
// With both ends and no prefix nothing is known, and nothing needs to be.
func (s Spec) around(r Range) (netipx.IPRange, error) {
	if r.Subnet.IsValid() {
		return netipx.RangeOfPrefix(r.Subnet.Masked()), r.inside(r.Subnet)
	}
	known := r.Start
	if !known.IsValid() {
		known = r.End
	}
	if !known.IsValid() {
		return netipx.IPRange{}, fmt.Errorf("a range has neither start, end nor subnet")
	}
	bits := s.wire(r).bits
	if bits == 0 {
		if r.Start.IsValid() && r.End.IsValid() {
			return netipx.IPRange{}, nil
		}
		return netipx.IPRange{}, fmt.Errorf("range at %s has one end only and no subnet or prefix to bound it", known)
	}
	p, err := known.Prefix(bits)
	if err != nil {
		return netipx.IPRange{}, fmt.Errorf("range at %s: a prefix length of %d is not possible", known, bits)
	}
	return netipx.RangeOfPrefix(p), r.inside(p)
}

func (r Range) inside(p netip.Prefix) error {
	for i, a := range []netip.Addr{r.Start, r.End} {
		switch name := []string{"start", "end"}[i]; {
		case !a.IsValid():
		case a.Is4() != p.Addr().Is4():
			return fmt.Errorf("range mixes IPv4 and IPv6: %s %s is not of the family of %s", name, a, p.Masked())
		case !p.Contains(a):
			return fmt.Errorf("%s %s lies outside %s", name, a, p.Masked())
		}
	}
	return nil
}

// unusable are the addresses of a range that no host can have, and what they are:
// gateway, network and broadcast, of the subnet and of the prefix on the wire, which
// may be wider.
func (s Spec) unusable(r Range, at netip.Addr) map[netip.Addr]string {
	out := map[netip.Addr]string{}
	w := s.wire(r)
	if r.Subnet.IsValid() {
		ends(out, r.Subnet.Masked())
	}
	if p, err := at.Prefix(w.bits); err == nil && w.bits > 0 {
		ends(out, p)
	}
	if w.gateway.IsValid() {
		out[w.gateway] = "its gateway"
	}
	return out
}

// ends are network and broadcast address. IPv6 has no broadcast, but its first address
// is every router's (RFC 4291 2.6.1); networks of one or two addresses have neither.
func ends(out map[netip.Addr]string, p netip.Prefix) {
	if p.Addr().BitLen()-p.Bits() <= 1 {
		return
	}
	out[p.Addr()] = "the network address of " + p.String()
	if p.Addr().Is4() {
		out[netipx.PrefixLastIP(p)] = "the broadcast address of " + p.String()
	}
}
