package audit

import (
	"cmp"
	"slices"
	"time"
)

// patience is how long a quarantine that is over may still be recorded.
const patience = time.Hour

func (a *auditor) checkClaim(c Claim) {
	if c.Address == "" {
		return // it waits; its own status says for what
	}
	f := Finding{Problem: Lost, Pool: c.Pool, Objects: []string{c.Name}, Network: a.pools[c.Pool].Network}
	at, there := a.records[c.Address]
	switch {
	case !there:
		a.addFinding(f, "delete the claim and create it again, with the address its host has",
			"pool %s: %s has %s, which does not exist: its address can be allocated to another claim", c.Pool, c.Name, c.Address)
	case at.Claim != c.Name:
		f.Problem, f.Address, f.Objects = Duplicate, at.Address.String(), []string{c.Name, at.Name}
		a.addFinding(f, "delete the claim that the record does not name",
			"pool %s: %s has %s, which is of %s", c.Pool, c.Name, c.Address, at.Claim)
	}
}

func (a *auditor) checkLock(l Lock) {
	f := Finding{Problem: Leak, Network: l.Network, Pool: l.Pool, Address: l.Address.String(), Objects: []string{l.Name}}
	switch l.State {
	case Held:
		c, known := a.claims[l.Claim]
		if !known {
			a.addFinding(f, "delete the lock; the address is free then",
				"pool %s: address %s is locked for %s, which does not exist", l.Pool, l.Address, l.Claim)
		} else if l.ClaimUID != "" && c.UID != "" && l.ClaimUID != c.UID {
			a.addFinding(f, "delete the lock; the address is free then",
				"pool %s: address %s is locked for an earlier claim with the name of %s", l.Pool, l.Address, l.Claim)
		}
	case Quarantined:
		if over := a.facts.Now.Sub(l.Until); over > patience {
			a.addFinding(f, "delete the lock; its quarantine is over",
				"pool %s: address %s should have left quarantine at %s", l.Pool, l.Address, l.Until.UTC().Format(time.RFC3339))
		}
	default: // a reserved address needs no claim
	}
}

// checkLeases finds static addresses that a DHCP server gave away: after its range was
// moved, say.
func (a *auditor) checkLeases() {
	for _, l := range a.facts.Leases {
		for _, s := range a.facts.Pools {
			if e, valid := a.extents[s.Name]; !valid || l.Network != "" && s.Network != l.Network || e.Why(l.Address) != "" {
				continue
			}
			f := Finding{Problem: Taken, Network: s.Network, Pool: s.Name, Address: l.Address.String()}
			f.Objects = []string{"DHCP lease of " + l.Client}
			a.addFinding(f, "end the lease before the address is allocated; exclude it until then",
				"pool %s: address %s is static, but DHCP leased it to %s", s.Name, l.Address, l.Client)
		}
	}
}

func (a *auditor) sortFindings() []Finding {
	order := []Problem{Duplicate, Conflict, Taken, Unlocked, Lost, Leak, Outside}
	slices.SortFunc(a.found, func(x, y Finding) int {
		return cmp.Or(cmp.Compare(slices.Index(order, x.Problem), slices.Index(order, y.Problem)),
			cmp.Compare(x.Network, y.Network), cmp.Compare(x.Pool, y.Pool), cmp.Compare(x.Text, y.Text))
	})
	return a.found
}
