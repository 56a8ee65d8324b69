package ipam

import (
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

// ledger is what this replica believes: which locks there are, and what each pool has left. All of it is
// derived from the API, and none of it is relied upon for uniqueness.
type ledger struct {
	mu        sync.Mutex
	now       func() time.Time
	locks     map[string]*lockv1.AddressLock     // by name
	byClaim   map[key]map[string]bool            // names of locks, by claim
	pools     map[types.NamespacedName]*pool     // that can be calculated with
	unlocked  map[string]key                     // claims of address objects without a lock, by the lock's name
	adoptable map[key]adoptable                  // the same, by claim
	waiting   map[types.NamespacedName]*waitlist // claims that a pool had nothing for
	published map[types.NamespacedName]time.Time // when a pool's status was written last
	requests  map[key]string                     // identity of claims that asked a pool, for when they vanish
	written   map[key]string                     // version of a claim as this replica wrote it last
}

// pool is one IPPool and its arithmetic.
type pool struct {
	*ipam.Pool
	object *metal3.IPPool
	spec   ipam.Spec
	locks  map[string]bool // names of the locks taken from it
	held   int             // of those, how many are held
	told   int64           // generation that waiting claims have heard of
}

func newLedger(now func() time.Time) *ledger {
	return &ledger{
		now: now, locks: map[string]*lockv1.AddressLock{}, byClaim: map[key]map[string]bool{},
		pools: map[types.NamespacedName]*pool{}, unlocked: map[string]key{}, adoptable: map[key]adoptable{},
		waiting: map[types.NamespacedName]*waitlist{}, published: map[types.NamespacedName]time.Time{},
		requests: map[key]string{}, written: map[key]string{},
	}
}

// addressOf reads the address of a lock, which the API server has validated.
func addressOf(l *lockv1.AddressLock) netip.Addr {
	a, _ := netip.ParseAddr(l.Spec.Address)
	return a
}

func poolOf(l *lockv1.AddressLock) types.NamespacedName {
	return types.NamespacedName{Namespace: l.Spec.Pool.Namespace, Name: l.Spec.Pool.Name}
}

// older says that a is a former version of the object that b is.
func older(a, b *lockv1.AddressLock) bool {
	if a.UID != b.UID {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
	return err == nil && order < 0
}

// observe learns of a lock as it is now; news says that it was not known so.
func (l *ledger) observe(lock *lockv1.AddressLock) (news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.locks[lock.Name]; known != nil {
		if known.UID == lock.UID && known.ResourceVersion == lock.ResourceVersion || older(lock, known) {
			return false
		}
		l.unlink(known)
	}
	l.link(lock)
	for _, p := range l.pools {
		p.apply(lock, l.now())
	}
	return true
}

// vanish learns that a lock was deleted.
func (l *ledger) vanish(lock *lockv1.AddressLock) (news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.locks[lock.Name]
	if known == nil || known.UID != lock.UID {
		return false
	}
	l.unlink(known)
	for _, p := range l.pools {
		p.free(known, l.now())
	}
	return true
}

func (l *ledger) link(lock *lockv1.AddressLock) {
	l.locks[lock.Name] = lock
	if k, was := l.unlocked[lock.Name]; was {
		delete(l.unlocked, lock.Name)
		delete(l.adoptable, k)
	}
	if lock.Spec.Claim != nil && lock.Spec.State == lockv1.LockHeld {
		k := keyOf(lock.Spec.Claim)
		delete(l.requests, k)
		if l.byClaim[k] == nil {
			l.byClaim[k] = map[string]bool{}
		}
		l.byClaim[k][lock.Name] = true
	}
	if p := l.pools[poolOf(lock)]; p != nil {
		p.link(lock)
	}
}

func (l *ledger) unlink(lock *lockv1.AddressLock) {
	delete(l.locks, lock.Name)
	if lock.Spec.Claim != nil {
		k := keyOf(lock.Spec.Claim)
		delete(l.byClaim[k], lock.Name)
		if len(l.byClaim[k]) == 0 {
			delete(l.byClaim, k)
		}
	}
	if p := l.pools[poolOf(lock)]; p != nil {
		p.unlink(lock)
	}
}

// ofClaim are the locks that a claim of this name holds, of whatever identity.
func (l *ledger) ofClaim(k key) (out []*lockv1.AddressLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name := range l.byClaim[k] {
		out = append(out, l.locks[name])
	}
	return out
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

// pool is what is known of a pool; nil where nothing can be calculated.
func (l *ledger) pool(name types.NamespacedName) *pool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pools[name]
}

// others are the pools of the same network.
func (l *ledger) others(name types.NamespacedName, network string) (out []*pool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n, p := range l.pools {
		if n != name && p.spec.Network == network {
			out = append(out, p)
		}
	}
	return out
}

// setPool learns of a pool as it is now. A pool whose arithmetic is impossible is forgotten, so that it gives
// nothing out; its locks are not.
func (l *ledger) setPool(object *metal3.IPPool, spec ipam.Spec) error {
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
		p.restore(ipam.Holding{Claim: string(lock.Spec.Claim.UID), Host: lock.Spec.Host, Address: a}, own)
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
		if lock.Spec.Claim == nil || lease.Claim != string(lock.Spec.Claim.UID) {
			return // promised to somebody else already
		}
		p.Release(lease.Claim)
	}
	_ = p.Quarantine(a, "", now)
}

// repeat tells the pools once more of a lock that they did not expect: an address was promised in spite of it.
func (l *ledger) repeat(lock *lockv1.AddressLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.pools {
		p.apply(lock, l.now())
	}
}

// lastPublished is when the pool's status was written last, by whichever replica.
func (l *ledger) lastPublished(name types.NamespacedName, seen *metav1.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.published[name]
	if seen != nil && seen.After(last) {
		last = seen.Time
	}
	return last
}

func (l *ledger) publishedAt(name types.NamespacedName, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.published[name] = at
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

// wrote remembers the version of a claim that this replica wrote.
func (l *ledger) wrote(k key, version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written[k] = version
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
