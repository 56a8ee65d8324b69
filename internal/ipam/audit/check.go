package audit

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

// Check lists what disagrees, the worst first, in an order that does not depend on that
// of the records. Its cost grows with the records, not with their square.
func Check(f Facts) []Finding {
	a := &auditor{facts: f, pools: map[string]ipam.Spec{}, claims: map[string]Claim{}, records: map[string]Address{},
		extents: map[string]ipam.Extent{}, locks: map[place]Lock{}, byPlace: map[place][]Address{}}
	a.indexLocks()
	a.checkPools()
	for _, at := range f.Addresses {
		a.checkAddress(at)
	}
	for p, all := range a.byPlace {
		a.checkDuplicates(p, all)
	}
	for _, c := range f.Claims {
		a.checkClaim(c)
	}
	for _, l := range f.Locks {
		a.checkLock(l)
	}
	a.checkLeases()
	a.checkClusterLeases()
	return a.sortFindings()
}

// place is where an address exists once.
type place struct {
	network string
	address netip.Addr
}

type auditor struct {
	facts   Facts
	pools   map[string]ipam.Spec
	extents map[string]ipam.Extent // of the valid ones
	claims  map[string]Claim
	records map[string]Address
	locks   map[place]Lock
	byPlace map[place][]Address
	found   []Finding
}

func (a *auditor) indexLocks() {
	for _, s := range a.facts.Pools {
		a.pools[s.Name] = s
	}
	for _, c := range a.facts.Claims {
		a.claims[c.Name] = c
	}
	for _, l := range a.facts.Locks {
		a.locks[place{l.Network, l.Address.Unmap()}] = l
	}
	for _, at := range a.facts.Addresses {
		a.records[at.Name] = at
		if s, ok := a.pools[at.Pool]; ok {
			p := place{s.Network, at.Address.Unmap()}
			a.byPlace[p] = append(a.byPlace[p], at)
		}
	}
}

func (a *auditor) addFinding(f Finding, remedy, format string, args ...any) {
	f.Text, f.Remedy = fmt.Sprintf(format, args...), remedy
	a.found = append(a.found, f)
}

func (a *auditor) checkPools() {
	for i, s := range a.facts.Pools {
		e, err := ipam.ExtentOf(s)
		if err != nil {
			a.addFinding(Finding{Problem: Conflict, Network: s.Network, Pool: s.Name}, "correct the pool", "%v", err)
			continue
		}
		a.extents[s.Name] = e
		if why := a.facts.Refused[s.Name]; why != nil { // it concerns no other pool
			a.addFinding(Finding{Problem: Conflict, Network: s.Network, Pool: s.Name}, "name another network, or have this one granted",
				"pool %s allocates nothing: %v", s.Name, why)
			continue
		}
		for _, t := range a.facts.Pools[:i] {
			if _, valid := a.extents[t.Name]; !valid || s.Network != t.Network || a.facts.Refused[t.Name] != nil {
				continue
			}
			if err := ipam.Conflicts(t, s); err != nil {
				a.addFinding(Finding{Problem: Conflict, Network: s.Network, Pool: t.Name, Objects: []string{s.Name}},
					"remove the addresses from one of the two", "%v", err)
			}
		}
	}
}

// checkClusterLeases finds pools over what the cluster leases itself.
func (a *auditor) checkClusterLeases() {
	for _, l := range a.facts.Leased {
		for _, s := range a.facts.Pools {
			if _, valid := a.extents[s.Name]; !valid || s.Network != l.Network {
				continue
			}
			for _, b := range ipam.Bounds(s) {
				if b.Overlaps(l.DHCP) {
					a.addFinding(Finding{Problem: Conflict, Network: s.Network, Pool: s.Name, Objects: []string{l.Name}},
						"move the range of the pool, or what is leased", "pool %s: range %s overlaps %s", s.Name, b, l.Name)
				}
			}
		}
	}
}

func (a *auditor) checkAddress(at Address) {
	f := Finding{Pool: at.Pool, Address: at.Address.String(), Objects: []string{at.Name}}
	s, known := a.pools[at.Pool]
	f.Network = s.Network
	if !known {
		f.Problem = Outside
		a.addFinding(f, "delete the record, or create the pool again", "%s is of pool %s, which does not exist", at.Name, at.Pool)
		return
	}
	if e, valid := a.extents[at.Pool]; valid && e.Why(at.Address) != "" {
		f.Problem = Outside
		a.addFinding(f, "delete its claim when its host leaves, or widen the pool",
			"pool %s: address %s of %s %s", at.Pool, at.Address, at.Claim, e.Why(at.Address))
	}
	c, known := a.claims[at.Claim]
	switch {
	case !known:
		f.Problem = Leak
		a.addFinding(f, "delete the record; the address is free then",
			"pool %s: address %s is allocated to %s, which does not exist", at.Pool, at.Address, at.Claim)
	case c.Address != "" && c.Address != at.Name:
		f.Problem = Leak
		a.addFinding(f, "delete the record that its claim does not name",
			"pool %s: address %s is allocated to %s, which has %s instead", at.Pool, at.Address, at.Claim, c.Address)
	default:
		a.checkLocked(f, at)
	}
}

// checkLocked checks that the lock of an allocated address is its claim's.
func (a *auditor) checkLocked(f Finding, at Address) {
	if !a.facts.Locked {
		return
	}
	f.Problem = Unlocked
	l, locked := a.locks[place{f.Network, at.Address.Unmap()}]
	if !locked {
		a.addFinding(f, "none: the controller locks it when it reconciles the claim",
			"pool %s: address %s of %s is not locked in network %s", at.Pool, at.Address, at.Claim, f.Network)
		return
	}
	if l.State != Held || l.Claim != at.Claim {
		f.Problem = Duplicate
		f.Objects = append(f.Objects, l.Name)
		a.addFinding(f, "the lock decides: delete the claim that does not hold it, and create it again",
			"pool %s: address %s is allocated to %s, but its lock %s is %s", at.Pool, at.Address, at.Claim, l.Name, l.describeHolder())
	}
}

func (l Lock) describeHolder() string {
	if l.State == Held {
		return "held by " + l.Claim
	}
	return "in state " + string(l.State)
}

func (a *auditor) checkDuplicates(p place, all []Address) {
	if len(all) < 2 {
		return
	}
	slices.SortFunc(all, func(x, y Address) int { return cmp.Compare(x.Claim+x.Name, y.Claim+y.Name) })
	f := Finding{Problem: Duplicate, Network: p.network, Pool: all[0].Pool, Address: p.address.String()}
	text := ""
	for i, at := range all {
		f.Objects = append(f.Objects, at.Name)
		if i > 0 {
			text += " and "
		}
		text += at.Claim + " (pool " + at.Pool + ")"
	}
	a.addFinding(f, "delete all but one of the claims, and configure their hosts anew",
		"address %s of network %s is allocated to %s at once", p.address, p.network, text)
}
