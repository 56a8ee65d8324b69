package manifest

import (
	"fmt"
	"strings"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/kinds"
)

// Find is the pool of a name, "namespace/name" or the name alone where it is the only one.
func (v *Inventory) Find(name string) (*metal3.IPPool, error) {
	var found []*metal3.IPPool
	for _, p := range v.Pools {
		if name == kinds.PoolName(p) || name == p.Name {
			found = append(found, p)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, fmt.Errorf("pool %s is in none of the files", name)
	}
	var names []string
	for _, p := range found {
		names = append(names, kinds.PoolName(p))
	}
	return nil, fmt.Errorf("pool %s could be any of %s", name, strings.Join(names, ", "))
}

// Open is a pool with everything in it that the inventory says is taken: the one way
// from manifests to arithmetic, whatever is asked afterwards.
func (v *Inventory) Open(o *metal3.IPPool, with ipam.Options) (*ipam.Pool, error) {
	spec, err := kinds.Spec(o)
	if err != nil {
		return nil, err
	}
	p, err := ipam.New(spec, with)
	if err != nil {
		return nil, err
	}
	hosts := map[string]string{}
	for _, c := range v.allClaims() {
		hosts[c.id] = c.GetAnnotations()[metal3.HostAnnotation]
	}
	for _, r := range v.allRecords() {
		if !v.sameNetwork(r.pool, spec.Network) {
			continue
		}
		a, err := ipam.ParseAddr(r.text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.id, err)
		}
		if r.pool != spec.Name && p.Extent().Why(a) != "" {
			continue // of another pool, and not in this one's way
		}
		if lost := p.Restore(ipam.Holding{Claim: r.claim, Host: hosts[r.claim], Address: a}); len(lost) > 0 {
			return nil, fmt.Errorf("pool %s: address %s of %s is that of %s too; see fsck", spec.Name, a, r.claim, lost[0].Claim)
		}
	}
	v.applyLocks(p, spec)
	return p, nil
}

func (v *Inventory) sameNetwork(pool, network string) bool {
	for _, p := range v.Pools {
		if kinds.PoolName(p) == pool {
			return kinds.Network(p) == network
		}
	}
	return false
}

// applyLocks applies the locks that keep an address back without holding it. Locks on addresses outside the pool are
// ignored.
func (v *Inventory) applyLocks(p *ipam.Pool, spec ipam.Spec) {
	for _, l := range v.Locks {
		a, err := ipam.ParseAddr(l.Spec.Address)
		if err != nil || l.Spec.Network != spec.Network || p.Extent().Why(a) != "" {
			continue
		}
		switch l.Spec.State {
		case lockv1.LockQuarantined:
			if l.Spec.Until != nil {
				_ = p.Quarantine(a, l.Spec.Host, l.Spec.Until.Time) // refused where a claim holds it, which fsck reports
			}
		case lockv1.LockReserved:
			p.Remember(l.Spec.Host, a)
		case lockv1.LockHeld:
			if _, known := p.Holder(a); !known && l.Spec.Claim != nil {
				p.Restore(ipam.Holding{Claim: lockClaim(l), Host: l.Spec.Host, Address: a})
			}
		}
	}
}

func lockClaim(l *lockv1.AddressLock) string {
	c := l.Spec.Claim
	return claimID(c.Kind, c.Namespace, c.Name)
}
