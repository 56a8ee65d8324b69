package ipam

import (
	"fmt"
	"net/netip"

	"go4.org/netipx"
)

// resolveBounds resolves what a range left out. An open end stops where the subnet or the prefix stops, so that it never runs into the
// neighbour's network. A range that has no address, such as one with an end alone, is not valid and no error: metal3 accepts it.
func (s Spec) resolveBounds(r Range) (netipx.IPRange, error) {
	around, err := s.networkOf(r)
	if err != nil || r.hasNoStart() {
		return netipx.IPRange{}, err
	}
	from, to := r.firstAddress(), r.End
	if !to.IsValid() {
		to = around.To()
	}
	if open := !r.Start.IsValid() && !r.End.IsValid(); open && (!from.IsValid() || to.Less(from)) {
		return netipx.IPRange{}, nil // the subnet's host bits are those of its last address
	}
	if err := checkOrder(from, to); err != nil {
		return netipx.IPRange{}, err
	}
	return netipx.IPRangeFrom(from, to), nil
}

// hasNoStart says that a range does not say where it begins.
func (r Range) hasNoStart() bool { return !r.Start.IsValid() && !r.Subnet.IsValid() }

// firstAddress is the first address of a range, which may be one that no host can have. A subnet with host bits begins after the address
// that they make.
func (r Range) firstAddress() netip.Addr {
	if r.Start.IsValid() {
		return r.Start
	}
	if at := r.Subnet.Addr(); at != r.Subnet.Masked().Addr() {
		return at.Next()
	}
	return r.Subnet.Addr()
}

// networkOf is the network a range lies in: its subnet, or the prefix around its ends. With both ends it need not be known; with neither
// an end nor a prefix it is all that follows.
func (s Spec) networkOf(r Range) (netipx.IPRange, error) {
	if r.Subnet.IsValid() {
		return netipx.RangeOfPrefix(r.Subnet.Masked()), r.checkInside(r.Subnet)
	}
	if !r.Start.IsValid() && !r.End.IsValid() {
		return netipx.IPRange{}, fmt.Errorf("a range has neither start, end nor subnet")
	}
	if r.End.IsValid() {
		return netipx.IPRange{}, nil
	}
	bits := s.toWire(r).bits
	p, err := r.Start.Prefix(bits)
	if err != nil {
		return netipx.IPRange{}, fmt.Errorf("range at %s: a prefix length of %d is not possible", r.Start, bits)
	}
	return netipx.RangeOfPrefix(p), nil
}

// onWire is the network that the hosts of a range see: its subnet, or what the prefix length makes; not valid where neither is given.
func (s Spec) onWire(r Range, b netipx.IPRange) netipx.IPRange {
	if r.Subnet.IsValid() {
		return netipx.RangeOfPrefix(r.Subnet.Masked())
	}
	p, err := b.From().Prefix(s.toWire(r).bits)
	if err != nil || p.Bits() == 0 {
		return netipx.IPRange{}
	}
	return netipx.RangeOfPrefix(p)
}

func (r Range) checkInside(p netip.Prefix) error {
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

// unusableAddresses are the addresses of a range that no host can have, and what they are: gateway, network and broadcast, of the
// subnet and of the prefix on the wire where that is as wide. A prefix longer than the subnet makes several networks of it, as metal3
// has it: their ends are the owner's to exclude.
func (s Spec) unusableAddresses(r Range, b netipx.IPRange) map[netip.Addr]string {
	out := map[netip.Addr]string{}
	w := s.toWire(r)
	if r.Subnet.IsValid() {
		addEnds(out, r.Subnet.Masked())
	}
	if w.bits > 0 && (!r.Subnet.IsValid() || w.bits <= r.Subnet.Bits()) {
		for _, at := range []netip.Addr{b.From(), b.To()} {
			if p, err := at.Prefix(w.bits); err == nil {
				addEnds(out, p)
			}
		}
	}
	if w.gateway.IsValid() {
		out[w.gateway] = "its gateway"
	}
	return out
}

// addEnds adds network and broadcast address. IPv6 has no broadcast, but its first address
// is every router's (RFC 4291 2.6.1); networks of one or two addresses have neither.
func addEnds(out map[netip.Addr]string, p netip.Prefix) {
	if p.Addr().BitLen()-p.Bits() <= 1 {
		return
	}
	out[p.Addr()] = "the network address of " + p.String()
	if p.Addr().Is4() {
		out[netipx.PrefixLastIP(p)] = "the broadcast address of " + p.String()
	}
}
