package ipam

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
)

// ofClaim are the locks that a claim of this name holds, of whatever identity.
func (l *ledger) ofClaim(k key) (out []*lockv1.AddressLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name := range l.byClaim[k] {
		out = append(out, l.locks[name])
	}
	return out
}

// prefer has a claim that holds several locks ask for the address of one of them, in the pool that the lock is of.
func (l *ledger) prefer(lock *lockv1.AddressLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.pools[poolOf(lock)]
	if p == nil || lock.Spec.Network != p.spec.Network {
		return
	}
	p.prefer(lock)
	for name := range l.byClaim[keyOf(lock.Spec.Claim)] {
		if name != lock.Name {
			p.apply(l.locks[name], l.now())
		}
	}
}

// claims are the claims that hold locks.
func (l *ledger) claims() map[key]types.UID {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make(map[key]types.UID, len(l.byClaim))
	for k, names := range l.byClaim {
		for name := range names {
			out[k] = l.locks[name].Spec.Claim.UID
		}
		if len(names) > 1 {
			out[k] = "" // no claim has this identity: look into it
		}
	}
	return out
}

// asked remembers which claim asked a pool in which identity; forget takes back what it was promised
// without a lock.
func (l *ledger) asked(k key, uid string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests[k] = uid
}

func (l *ledger) forget(k key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.written, k)
	uid, ok := l.requests[k]
	if !ok {
		return
	}
	delete(l.requests, k)
	for _, p := range l.pools {
		lease, has := p.Of(uid)
		if has && l.locks[lockv1.LockName(p.spec.Network, lease.Address)] == nil {
			p.Release(uid)
			_ = p.Quarantine(lease.Address, "", time.Time{})
		}
	}
}

// wrote remembers the version of a claim that this replica wrote.
func (l *ledger) wrote(k key, version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written[k] = version
}

// lastWritten is the version of a claim that this replica wrote last and has not read yet; empty where it has written none.
func (l *ledger) lastWritten(k key) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.written[k]
}

// outdated says that the cache has not seen yet what this replica wrote to the claim.
func (l *ledger) outdated(k key, version string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, ok := l.written[k]
	if !ok {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(version, last)
	if err == nil && order < 0 {
		return true
	}
	delete(l.written, k)
	return false
}

// expected says that this replica is about to hold that lock: it has asked a pool for the claim.
func (l *ledger) expected(lock *lockv1.AddressLock) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return lock.Spec.Claim != nil && l.requests[keyOf(lock.Spec.Claim)] == string(lock.Spec.Claim.UID)
}
