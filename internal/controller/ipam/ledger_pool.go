package ipam

import (
	"time"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

// pool is one IPPool and its arithmetic.
type pool struct {
	*ipam.Pool
	object *metal3.IPPool
	spec   ipam.Spec
	locks  map[string]bool // names of the locks taken from it
	held   int             // of those, how many are held
	told   int64           // generation that waiting claims have heard of
}

// asNow is a copy for who does not hold the ledger's mutex: object and spec are replaced when the pool changes. The locks are the
// ledger's own.
func (p *pool) asNow() *pool { return &pool{Pool: p.Pool, object: p.object, spec: p.spec} }

func (p *pool) link(lock *lockv1.AddressLock) {
	p.locks[lock.Name] = true
	if lock.Spec.State == lockv1.LockHeld {
		p.held++
	}
}

func (p *pool) unlink(lock *lockv1.AddressLock) {
	if p.locks[lock.Name] && lock.Spec.State == lockv1.LockHeld {
		p.held--
	}
	delete(p.locks, lock.Name)
}

// apply tells the arithmetic of a lock of the pool's network.
func (p *pool) apply(lock *lockv1.AddressLock, now time.Time) {
	if lock.Spec.Network != p.spec.Network {
		return
	}
	a := addressOf(lock)
	own := lock.Spec.Pool.Namespace == p.object.Namespace && lock.Spec.Pool.Name == p.object.Name
	if lock.Spec.State == lockv1.LockHeld {
		p.restore(ipam.Holding{Claim: p.holder(lock), Host: lock.Spec.Host, Address: a}, own)
		return
	}
	if lease, ok := p.Holder(a); ok {
		p.Release(lease.Claim)
	}
	until := now
	if lock.Spec.Until != nil {
		until = lock.Spec.Until.Time
	}
	_ = p.Quarantine(a, lock.Spec.Host, until) // an address that is not the pool's needs no quarantine there
}

// surplusPrefix begins what stands for a claim at the address of a second lock that it has.
const surplusPrefix = "surplus:"

// holder is who holds the address of a lock. The arithmetic knows one address of a claim; a claim that two replicas served at one
// time has two locks until one is released. Were the second not known to be taken, everybody would try for it in turns.
func (p *pool) holder(lock *lockv1.AddressLock) string {
	uid := string(lock.Spec.Claim.UID)
	lease, has := p.Of(uid)
	if has && lease.Address != addressOf(lock) && p.locks[lockv1.LockName(p.spec.Network, lease.Address)] {
		return surplusPrefix + lock.Name
	}
	return uid
}

// prefer makes one of the locks of a claim the one that its address is counted by.
func (p *pool) prefer(lock *lockv1.AddressLock) {
	p.restore(ipam.Holding{Claim: string(lock.Spec.Claim.UID), Host: lock.Spec.Host, Address: addressOf(lock)}, true)
}

// restore makes a holding known, but for one that is another pool's and outside of this one.
func (p *pool) restore(h ipam.Holding, own bool) {
	p.Restore(h)
	if own {
		return
	}
	if lease, ok := p.Of(h.Claim); ok && lease.Outside {
		p.Release(h.Claim)
	}
}

// free tells the arithmetic that a lock is gone.
func (p *pool) free(lock *lockv1.AddressLock, now time.Time) {
	if lock.Spec.Network != p.spec.Network {
		return
	}
	a := addressOf(lock)
	if lease, ok := p.Holder(a); ok {
		if lock.Spec.Claim == nil || lease.Claim != string(lock.Spec.Claim.UID) && lease.Claim != surplusPrefix+lock.Name {
			return // promised to somebody else already
		}
		p.Release(lease.Claim)
	}
	_ = p.Quarantine(a, "", now)
}
