package ipam

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"go4.org/netipx"
)

// Validate says everything that is wrong with a pool by itself, one sentence per
// error, each naming the pool and the address. What lies between pools is Conflicts.
func Validate(s Spec) error {
	_, err := newLayout(s)
	return err
}

// layout is a valid Spec worked out.
type layout struct {
	v4     bool
	ranges []span                // as declared, without holes
	usable []span                // what may be allocated, by range and address
	before []Count               // how many usable addresses lie before usable[i]
	byAddr []int                 // indexes of usable, by address
	total  Count                 // usable addresses
	wires  []wire                // per range
	off    []netipx.IPRange      // everything excluded
	is     map[netip.Addr]string // what an excluded address is, for the refusals
}

func newLayout(s Spec) (*layout, error) {
	l := &layout{}
	c := &check{pool: s.Name}
	if s.Name == "" {
		c.addProblem("it has no name")
	}
	bounds := c.checkRanges(s)
	if len(c.problems) > 0 {
		return nil, errors.Join(c.problems...)
	}
	l.v4 = isV4(s, bounds)
	l.carveSpans(s, bounds)
	if l.total.IsZero() && !l.countAddresses().IsZero() {
		c.addProblem("every address of its ranges is excluded: nothing is left to allocate")
	}
	c.checkSettings(s, l.v4)
	c.checkDHCP(s, l, bounds)
	c.checkReserved(s, l)
	return l, errors.Join(c.problems...)
}

// isV4 says whether a pool is one of IPv4 addresses. One without addresses, which metal3 accepts, is what it names else.
func isV4(s Spec, bounds []netipx.IPRange) bool {
	for _, b := range bounds {
		if b.IsValid() {
			return b.From().Is4()
		}
	}
	for _, r := range s.Ranges {
		if r.End.IsValid() {
			return r.End.Is4()
		}
		if r.Subnet.IsValid() {
			return r.Subnet.Addr().Is4()
		}
	}
	if s.DHCP.IsValid() {
		return s.DHCP.From().Is4()
	}
	return !s.Gateway.IsValid() || s.Gateway.Is4()
}

// check collects sentences about one pool.
type check struct {
	pool     string
	problems []error
}

func (c *check) addProblem(format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf("pool %s: "+format, append([]any{c.pool}, args...)...))
}

func (c *check) checkRanges(s Spec) (bounds []netipx.IPRange) {
	for _, r := range s.Ranges {
		b, err := s.resolveBounds(r)
		if err != nil {
			c.addProblem("%w", err)
			continue
		}
		for _, other := range bounds {
			switch {
			case !other.IsValid() || !b.IsValid():
			case other.From().Is4() != b.From().Is4():
				c.addProblem("ranges %s and %s mix IPv4 and IPv6; make a pool of each", other, b)
			case other.Overlaps(b):
				c.addProblem("ranges %s and %s overlap at %s", other, b, laterOf(other.From(), b.From()))
			}
		}
		c.checkPrefix(s, r, b)
		bounds = append(bounds, b)
	}
	return bounds
}

// checkPrefix checks that hosts can have the prefix length. It may be longer than that of the subnet, and a range may leave the
// network that it makes: metal3 serves both.
func (c *check) checkPrefix(s Spec, r Range, b netipx.IPRange) {
	if bits := s.toWire(r).bits; b.IsValid() && bits > b.From().BitLen() {
		c.addProblem("range %s: a prefix length of %d is not possible", b, bits)
	}
}

// checkSettings checks what goes with an address: everything is of its family.
func (c *check) checkSettings(s Spec, v4 bool) {
	for _, r := range s.Ranges {
		if w := s.toWire(r); w.gateway.IsValid() && w.gateway.Is4() != v4 {
			c.addProblem("gateway %s is not %s, as the pool is", w.gateway, familyWord(v4))
		}
	}
	for _, e := range s.Exclude {
		if !e.IsValid() {
			c.addProblem("an exclusion is empty, reversed or of two families")
		} else if e.From().Is4() != v4 {
			c.addProblem("exclusion %s is not %s, as the pool is", rangeWord(e), familyWord(v4))
		}
	}
	if s.VLAN < 0 || s.VLAN > 4094 {
		c.addProblem("VLAN id %d is outside 1-4094", s.VLAN)
	}
	if s.Quarantine < 0 {
		c.addProblem("a quarantine of %s is in the past", s.Quarantine)
	}
	if !slices.Contains([]Strategy{"", Sequential, Random, Sticky}, s.Strategy) {
		c.addProblem("strategy %q is none of sequential, random, sticky", s.Strategy)
	}
}

func (c *check) checkDHCP(s Spec, l *layout, bounds []netipx.IPRange) {
	if s.DHCP == (netipx.IPRange{}) {
		return
	}
	if err := checkOrder(s.DHCP.From(), s.DHCP.To()); err != nil {
		c.addProblem("DHCP: %w", err)
		return
	}
	if len(l.ranges) == 0 {
		return
	}
	if s.DHCP.From().Is4() != l.v4 {
		c.addProblem("DHCP range %s is not %s, as the pool is", s.DHCP, familyWord(l.v4))
		return
	}
	lies := false
	for i, b := range bounds {
		if !b.IsValid() {
			continue
		}
		if b.Overlaps(s.DHCP) {
			c.addProblem("DHCP range %s overlaps range %s at %s: an address cannot be leased and static at once",
				s.DHCP, b, laterOf(b.From(), s.DHCP.From()))
		}
		around := s.onWire(s.Ranges[i], b)
		lies = lies || !around.IsValid() || around.Contains(s.DHCP.From()) && around.Contains(s.DHCP.To())
	}
	for _, a := range slices.SortedFunc(maps.Keys(l.is), netip.Addr.Compare) {
		if s.DHCP.Contains(a) {
			c.addProblem("DHCP range %s holds %s, which is %s", s.DHCP, a, l.is[a])
		}
	}
	if !lies {
		c.addProblem("DHCP range %s lies outside every subnet of the pool", s.DHCP)
	}
}

func (c *check) checkReserved(s Spec, l *layout) {
	owner := map[netip.Addr]string{}
	for _, name := range slices.Sorted(maps.Keys(s.Reserved)) {
		a := s.Reserved[name]
		if !a.IsValid() {
			c.addProblem("the address reserved for %s is not an address", name)
			continue
		}
		a = a.Unmap()
		if why := l.whyUnusable(a); why != "" {
			c.addProblem("address %s reserved for %s %s", a, name, why)
		}
		if other, twice := owner[a]; twice {
			c.addProblem("address %s is reserved for both %s and %s", a, other, name)
		}
		owner[a] = name
	}
}

func laterOf(a, b netip.Addr) netip.Addr {
	if a.Less(b) {
		return b
	}
	return a
}
