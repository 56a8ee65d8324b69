package ipam

import (
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/types"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

// pool is what is known of a pool now, with the arithmetic that goes on; nil where nothing can be calculated.
func (l *ledger) pool(name types.NamespacedName) *pool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.pools[name]; p != nil {
		return p.asNow()
	}
	return nil
}

// others are the pools of the same network.
func (l *ledger) others(name types.NamespacedName, network string) (out []*pool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n, p := range l.pools {
		if n != name && p.spec.Network == network {
			out = append(out, p.asNow())
		}
	}
	return out
}

// setPool learns of a pool as it is now. A pool whose arithmetic is impossible is forgotten, so that it gives
// nothing out; its locks are not.
func (l *ledger) setPool(object *metal3.IPPool, spec ipam.Spec) error {
	object = object.DeepCopy() // the caller may go on with its own
	l.mu.Lock()
	defer l.mu.Unlock()
	name := types.NamespacedName{Namespace: object.Namespace, Name: object.Name}
	if old := l.pools[name]; old != nil && old.object.UID == object.UID && old.spec.Network == spec.Network {
		if old.object.Generation == object.Generation {
			old.object = object
			return nil
		}
		if _, err := old.Resize(spec); err == nil {
			old.object, old.spec = object, spec
			l.replay(old)
			return nil
		}
	}
	arithmetic, err := ipam.New(spec, ipam.Options{Now: l.now, Rand: rand.NewPCG(rand.Uint64(), rand.Uint64())})
	if err != nil {
		delete(l.pools, name)
		return err
	}
	p := &pool{Pool: arithmetic, object: object, spec: spec, locks: map[string]bool{}}
	l.pools[name] = p
	l.replay(p)
	return nil
}

// replay tells a pool of everything on its network.
func (l *ledger) replay(p *pool) {
	p.locks, p.held = map[string]bool{}, 0
	name := types.NamespacedName{Namespace: p.object.Namespace, Name: p.object.Name}
	for _, lock := range l.locks {
		if poolOf(lock) == name {
			p.link(lock)
		}
		p.apply(lock, l.now())
	}
	for lockName := range l.unlocked {
		p.reserveUnlocked(lockName)
	}
}

func (l *ledger) dropPool(name types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pools, name)
	delete(l.counted, name)
}

// heldBy are the names of the locks of a pool, and how many are held, whether or not it can be calculated with.
func (l *ledger) heldBy(name types.NamespacedName) (locks []*lockv1.AddressLock, held int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	take := func(lock *lockv1.AddressLock) {
		locks = append(locks, lock)
		if lock.Spec.State == lockv1.LockHeld {
			held++
		}
	}
	if p := l.pools[name]; p != nil {
		for lockName := range p.locks {
			take(l.locks[lockName])
		}
		return locks, held
	}
	for _, lock := range l.locks {
		if poolOf(lock) == name {
			take(lock)
		}
	}
	return locks, held
}

// repeat tells the pools once more of a lock that they did not expect: an address was promised in spite of it.
func (l *ledger) repeat(lock *lockv1.AddressLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.pools {
		p.apply(lock, l.now())
	}
}

// count says how long to wait until what a pool has given out may be counted again; 0 is that it is counted now.
func (l *ledger) count(name types.NamespacedName, every time.Duration) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if since := now.Sub(l.counted[name]); since < every {
		return every - since
	}
	l.counted[name] = now
	return 0
}

// generationTold says, once for each generation of a pool, that it is new.
func (l *ledger) generationTold(name types.NamespacedName, generation int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.pools[name]
	if p == nil || p.told == generation {
		return false
	}
	p.told = generation
	return true
}
