package ipam

import (
	"net/netip"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
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
	woken     map[key]types.NamespacedName       // claims whose turn it is, until they are looked at
	counted   map[types.NamespacedName]time.Time // when this replica counted what a pool has given out
	requests  map[key]string                     // identity of claims that asked a pool, for when they vanish
	objects   map[key]map[string]bool            // names of address objects, by claim
	written   map[key]string                     // version of a claim as this replica wrote it last
}

func newLedger(now func() time.Time) *ledger {
	return &ledger{
		now: now, locks: map[string]*lockv1.AddressLock{}, byClaim: map[key]map[string]bool{},
		pools: map[types.NamespacedName]*pool{}, unlocked: map[string]key{}, adoptable: map[key]adoptable{},
		waiting: map[types.NamespacedName]*waitlist{}, woken: map[key]types.NamespacedName{},
		counted:  map[types.NamespacedName]time.Time{},
		requests: map[key]string{}, written: map[key]string{}, objects: map[key]map[string]bool{},
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
