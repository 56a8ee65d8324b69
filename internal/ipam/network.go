package ipam

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"go4.org/netipx"
)

// Conflicts says where two pools of one network meet: range with range, range with
// DHCP, DHCP with DHCP of another subnet. Pools of different networks never conflict.
// The specs are valid each by itself.
func Conflicts(a, b Spec) error {
	if a.Network != b.Network {
		return nil
	}
	la, errA := newLayout(a)
	lb, errB := newLayout(b)
	if err := errors.Join(errA, errB); err != nil || la.v4 != lb.v4 {
		return err
	}
	var problems []error
	for _, x := range la.ranges {
		for _, y := range lb.ranges {
			if x.overlaps(y) {
				problems = append(problems, overlapOf(a, "", b, "", x, y, la.v4))
			}
		}
	}
	problems = append(problems, dhcpMeets(a, b, lb), dhcpMeets(b, a, la))
	if a.DHCP.IsValid() && b.DHCP.IsValid() && a.DHCP != b.DHCP && a.DHCP.Overlaps(b.DHCP) {
		problems = append(problems, overlapOf(a, "DHCP range ", b, "DHCP range ", spanOf(a.DHCP), spanOf(b.DHCP), la.v4))
	}
	return errors.Join(problems...)
}

func dhcpMeets(a, b Spec, lb *layout) error {
	if !a.DHCP.IsValid() {
		return nil
	}
	var problems []error
	for _, y := range lb.ranges {
		if x := spanOf(a.DHCP); x.overlaps(y) {
			problems = append(problems, overlapOf(a, "DHCP range ", b, "", x, y, lb.v4))
		}
	}
	return errors.Join(problems...)
}

func overlapOf(a Spec, ofA string, b Spec, ofB string, x, y span, v4 bool) error {
	at := x.from
	if at.less(y.from) {
		at = y.from
	}
	return fmt.Errorf("pool %s: %s%s overlaps %s%s of pool %s at %s%s", a.Name,
		ofA, x.formatSpan(v4), ofB, y.formatSpan(v4), b.Name, at.toAddress(v4), inNetwork(a.Network))
}

func (s span) formatSpan(v4 bool) string {
	return s.from.toAddress(v4).String() + "-" + s.to.toAddress(v4).String()
}

func inNetwork(name string) string {
	if name == "" {
		return ""
	}
	return " in network " + name
}

// Bounds are a valid pool's ranges with both ends resolved, in order, without those that have no address.
func Bounds(s Spec) (out []netipx.IPRange) {
	for _, r := range s.Ranges {
		if b, err := s.resolveBounds(r); err == nil && b.IsValid() {
			out = append(out, b)
		}
	}
	return out
}

// Networks are the networks a valid pool's ranges lie in, as hosts see them; a range that
// says no prefix length has none.
func Networks(s Spec) (out []netip.Prefix) {
	for _, r := range s.Ranges {
		b, err := s.resolveBounds(r)
		if err != nil || !b.IsValid() {
			continue
		}
		p, err := b.From().Prefix(s.toWire(r).bits)
		if err == nil && p.Bits() > 0 && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}
