package ipam

import (
	"net/netip"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/latest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/kinds"
)

// ledger is what the controller believes: which locks and address objects exist, and what each pool has left. All of it is derived
// from the API, and none of it is relied upon for uniqueness.
type ledger struct {
	mu       sync.Mutex
	now      func() time.Time
	locks    map[string]*lockv1.AddressLock   // by name
	byClaim  map[key]map[string]bool          // names of the locks that a claim holds
	objects  map[key]map[string]addressObject // address objects, by claim and name
	supplies map[types.NamespacedName]*supply // of pools that can be calculated with
	tenants
	leased []kinds.Leased // what the cluster leases itself
	// unreadable is what could not be read of that.
	unreadable string
	waiting    map[types.NamespacedName]*waitlist
	woken      map[key]waiter       // claims that were taken off a waitlist, until they are reconciled
	missed     map[key]time.Time    // claims whose pool was not known, since when
	written    latest.Versions[key] // of claims
}

func newLedger(now func() time.Time) *ledger {
	return &ledger{
		now: now, locks: map[string]*lockv1.AddressLock{}, byClaim: map[key]map[string]bool{},
		objects: map[key]map[string]addressObject{}, supplies: map[types.NamespacedName]*supply{},
		tenants: newTenants(),
		waiting: map[types.NamespacedName]*waitlist{}, woken: map[key]waiter{},
		missed: map[key]time.Time{},
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

// recordLock records a lock as it is now; news says that it was not known so.
func (l *ledger) recordLock(lock *lockv1.AddressLock) (news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.locks[lock.Name]; known != nil {
		if known.UID == lock.UID &&
			(known.ResourceVersion == lock.ResourceVersion || latest.IsOlder(lock.ResourceVersion, known.ResourceVersion)) {
			return false
		}
		l.unindexLock(known)
	}
	l.indexLock(lock)
	l.applyToAll(lock)
	return true
}

// reapplyLock records a lock, and applies it even if it was known: a pool has promised its address in spite of it.
func (l *ledger) reapplyLock(lock *lockv1.AddressLock) (news bool) {
	news = l.recordLock(lock)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.applyToAll(lock)
	return news
}

func (l *ledger) applyToAll(lock *lockv1.AddressLock) {
	for _, s := range l.supplies {
		s.applyLock(lock, l.now())
	}
}

// removeLock records that a lock was deleted.
func (l *ledger) removeLock(lock *lockv1.AddressLock) (news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.locks[lock.Name]
	if known == nil || known.UID != lock.UID {
		return false
	}
	l.unindexLock(known)
	for _, s := range l.supplies {
		s.freeLock(known, l.now())
	}
	return true
}

func (l *ledger) indexLock(lock *lockv1.AddressLock) {
	l.locks[lock.Name] = lock
	if lock.Spec.State == lockv1.LockHeld {
		k := keyOf(lock.Spec.Claim)
		if l.byClaim[k] == nil {
			l.byClaim[k] = map[string]bool{}
		}
		l.byClaim[k][lock.Name] = true
	}
	if s := l.supplies[poolOf(lock)]; s != nil {
		s.indexLock(lock)
	}
}

func (l *ledger) unindexLock(lock *lockv1.AddressLock) {
	delete(l.locks, lock.Name)
	if lock.Spec.Claim != nil {
		k := keyOf(lock.Spec.Claim)
		delete(l.byClaim[k], lock.Name)
		if len(l.byClaim[k]) == 0 {
			delete(l.byClaim, k)
		}
	}
	if s := l.supplies[poolOf(lock)]; s != nil {
		s.unindexLock(lock)
	}
}

// locksOf are the locks that a claim of this name holds, whatever its UID.
func (l *ledger) locksOf(k key) (out []*lockv1.AddressLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name := range l.byClaim[k] {
		out = append(out, l.locks[name])
	}
	return out
}

// ownersOf are the claims that hold locks, with the UID that each lock names.
func (l *ledger) ownersOf() (claims map[key][]types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	claims = make(map[key][]types.UID, len(l.byClaim))
	for k, names := range l.byClaim {
		for name := range names {
			claims[k] = append(claims[k], l.locks[name].Spec.Claim.UID)
		}
	}
	return claims
}

// recordVersion records the version of a claim that was written.
func (l *ledger) recordVersion(k key, version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written.Record(k, version)
}

// isCacheBehind says that the cache does not have yet what was written to the claim.
func (l *ledger) isCacheBehind(k key, version string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.written.IsBehind(k, version)
}

// forgetClaim drops what is remembered of a claim that is gone.
func (l *ledger) forgetClaim(k key) {
	l.leaveAll(k)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written.Forget(k)
	delete(l.missed, k)
}

// startPoolGrace begins, once, the grace period of a claim whose pool is not known, and returns what is left of it.
func (l *ledger) startPoolGrace(k key, grace time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	since, known := l.missed[k]
	if !known || now.Before(since) {
		l.missed[k], since = now, now
	}
	return grace - now.Sub(since)
}

// endPoolGrace ends the grace period of a claim: its pool is known.
func (l *ledger) endPoolGrace(k key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.missed, k)
}

// addressObject is an address object that names a claim. It may be older than locks: an installer registers the addresses of the
// masters, a former controller leaves what it allocated. Such an address is reserved for the claim that the object names, which
// locks it when it is reconciled.
type addressObject struct {
	name    string
	claim   key
	pool    types.NamespacedName
	address netip.Addr // not valid where it cannot be read, or is another provider's
}

// holderName names in a pool the claim of an address object without a lock.
func (o addressObject) holderName() string {
	return o.claim.String() + " (address object " + o.name + ")"
}

// lockOf is the lock that guards an address object, nil where there is none, and the network that it has to be on.
func (l *ledger) lockOf(o addressObject) (lock *lockv1.AddressLock, network string) {
	network = metal3.NamespaceNetwork(o.pool.Namespace)
	if s := l.supplies[o.pool]; s != nil {
		network = s.spec.Network
	}
	return l.locks[lockv1.LockName(network, o.address)], network
}

// recordAddress records an address object, and reserves its address if it has no lock; unguarded says that no lock of its claim guards it.
func (l *ledger) recordAddress(h held) (unguarded bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := addressObject{name: h.GetName(), claim: h.claim, pool: h.pool}
	if a, err := ipam.ParseAddr(h.address); err == nil && h.pool.Name != "" {
		o.address = a
	}
	if l.objects[h.claim] == nil {
		l.objects[h.claim] = map[string]addressObject{}
	}
	l.objects[h.claim][o.name] = o
	if !o.address.IsValid() {
		return false
	}
	lock, _ := l.lockOf(o)
	l.reserveAddress(o)
	return lock == nil || lock.Spec.State != lockv1.LockHeld || keyOf(lock.Spec.Claim) != h.claim
}

// reserveAddress keeps the address of an object without a lock from other claims.
func (l *ledger) reserveAddress(o addressObject) {
	lock, network := l.lockOf(o)
	if lock != nil || !o.address.IsValid() || l.refusalFor(network, o.pool.Namespace) != nil {
		return
	}
	for name, s := range l.supplies {
		if _, taken := s.Holder(o.address); !taken && s.spec.Network == network {
			s.restoreHolding(o.holderName(), "", o.address, name == o.pool)
		}
	}
}

// removeAddress records that an address object is gone, and returns the pools that have its address.
func (l *ledger) removeAddress(h held) []types.NamespacedName {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := l.objects[h.claim][h.GetName()]
	delete(l.objects[h.claim], h.GetName())
	if len(l.objects[h.claim]) == 0 {
		delete(l.objects, h.claim)
	}
	for _, s := range l.supplies {
		s.Withdraw(o.holderName())
	}
	_, network := l.lockOf(o)
	return l.sharingLocked(h.pool, network, o.address)
}

// objectsOf are the names of the address objects that name a claim.
func (l *ledger) objectsOf(k key) (names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name := range l.objects[k] {
		names = append(names, name)
	}
	return names
}

// adoptAddress promises a claim the address of an object without a lock that names it, whatever the pool says of that address.
func (l *ledger) adoptAddress(k key, uid, host string) (o addressObject, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.objects[k] {
		s := l.supplies[o.pool]
		if s == nil || !o.address.IsValid() {
			continue
		}
		if lease, taken := s.Holder(o.address); taken && lease.Claim == o.holderName() {
			s.restoreHolding(uid, host, o.address, true)
			return o, true
		}
	}
	return addressObject{}, false
}

// withdrawPromise takes back what a pool promised a claim that got no lock.
func (l *ledger) withdrawPromise(k key, pool types.NamespacedName, uid string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.supplies[pool]
	if s == nil {
		return
	}
	lease, promised := s.Of(uid)
	s.Withdraw(uid)
	if lock := l.locks[lockv1.LockName(s.spec.Network, lease.Address)]; promised && lock != nil {
		s.applyLock(lock, l.now())
	}
	for _, o := range l.objects[k] {
		l.reserveAddress(o)
	}
}
