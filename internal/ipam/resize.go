package ipam

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
)

// Resize gives the pool another Spec, larger or smaller. What is held stays held: a
// lease the new Spec has no room for becomes Outside, is returned, and ends with its
// claim. Whoever wants a shrink refused instead asks CheckResize first.
func (p *Pool) Resize(s Spec) (outside []Lease, err error) {
	l, err := newLayout(s)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.v4 != p.lay.v4 {
		return nil, p.newRefusal(ErrConflict, netip.Addr{}, "cannot change its family from %s to %s",
			familyWord(p.lay.v4), familyWord(l.v4))
	}
	p.spec = s
	p.rebuildFree(l)
	return p.leasesOutside(), nil
}

func (p *Pool) leasesOutside() (out []Lease) {
	for _, h := range p.byAddr {
		if h.rng < 0 {
			out = append(out, p.leaseOf(h))
		}
	}
	slices.SortFunc(out, func(a, b Lease) int { return a.Address.Compare(b.Address) })
	return out
}

// named is how many addresses a refusal lists before it counts the rest.
const named = 5

// CheckResize says which holders another Spec would put outside, or who would come to
// hold an address that is reserved for another name or leased by DHCP.
func CheckResize(s Spec, held []Holding) error {
	l, err := newLayout(s)
	if err != nil {
		return err
	}
	var problems []error
	var words []string
	for _, h := range held {
		a := h.Address.Unmap()
		if s.DHCP.IsValid() && s.DHCP.Contains(a) {
			problems = append(problems, resizeRefusal(s.Name, h, "lies in the DHCP range "+s.DHCP.String()))
			continue
		}
		if why := l.whyUnusable(a); why != "" {
			words = append(words, a.String()+" (held by "+h.Claim+") "+why)
		}
	}
	if len(words) > 0 {
		problems = append(problems, shrinkRefusal(s.Name, words))
	}
	return errors.Join(problems...)
}

func resizeRefusal(pool string, h Holding, why string) error {
	return &Refusal{Pool: pool, Address: h.Address, Holder: h.Claim, Why: ErrInUse,
		text: ": address " + h.Address.String() + ", held by " + h.Claim + ", " + why}
}

func shrinkRefusal(pool string, words []string) error {
	slices.Sort(words)
	more := ""
	if n := len(words) - named; n > 0 {
		words, more = words[:named], "; and more of them: "+CountOf(uint64(n)).String()
	}
	return &Refusal{Pool: pool, Why: ErrInUse, text: " cannot lose addresses in use: " + strings.Join(words, "; ") + more}
}
