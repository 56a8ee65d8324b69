package ipam

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"time"

	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

// supply is one IPPool and the arithmetic of its addresses. The holder of an address is the UID of a claim while it is promised, and
// names its lock afterwards, so that a claim with two locks holds both until one is released.
type supply struct {
	*ipam.Pool
	object  *metal3.IPPool
	spec    ipam.Spec
	locks   map[string]bool // names of the locks taken from the pool
	held    int             // how many of those are held
	counted time.Time       // when the status was computed last
}

// copyForRead makes a copy for use without the ledger's mutex: object and spec are replaced when the pool changes.
func (s *supply) copyForRead() *supply { return &supply{Pool: s.Pool, object: s.object, spec: s.spec} }

func (s *supply) poolName() types.NamespacedName { return client.ObjectKeyFromObject(s.object) }

func (s *supply) indexLock(lock *lockv1.AddressLock) {
	s.locks[lock.Name] = true
	if lock.Spec.State == lockv1.LockHeld {
		s.held++
	}
}

func (s *supply) unindexLock(lock *lockv1.AddressLock) {
	if s.locks[lock.Name] && lock.Spec.State == lockv1.LockHeld {
		s.held--
	}
	delete(s.locks, lock.Name)
}

// holderOf names who holds the address of a lock.
func holderOf(lock *lockv1.AddressLock) string {
	if lock.Spec.Claim == nil {
		return "lock " + lock.Name
	}
	return keyOf(lock.Spec.Claim).String() + " (lock " + lock.Name + ")"
}

// applyLock makes the arithmetic agree with a lock of the pool's network.
func (s *supply) applyLock(lock *lockv1.AddressLock, now time.Time) {
	if lock.Spec.Network != s.spec.Network {
		return
	}
	a := addressOf(lock)
	if lock.Spec.State == lockv1.LockHeld {
		s.restoreHolding(holderOf(lock), lock.Spec.Host, a, poolOf(lock) == s.poolName())
		return
	}
	if lease, ok := s.Holder(a); ok {
		s.Withdraw(lease.Claim)
	}
	until := now
	if lock.Spec.Until != nil {
		until = lock.Spec.Until.Time
	}
	_ = s.Quarantine(a, lock.Spec.Host, until) // an address that is not the pool's needs no quarantine there
}

// restoreHolding makes a holding known, unless it is another pool's and outside this one.
func (s *supply) restoreHolding(holder, host string, a netip.Addr, own bool) {
	if own || s.Extent().Why(a) == "" {
		s.Restore(ipam.Holding{Claim: holder, Host: host, Address: a})
	}
}

// freeLock makes the arithmetic agree with the deletion of a lock.
func (s *supply) freeLock(lock *lockv1.AddressLock, now time.Time) {
	if lock.Spec.Network != s.spec.Network {
		return
	}
	if lease, ok := s.Holder(addressOf(lock)); ok {
		if lease.Claim != holderOf(lock) {
			return // promised to another claim already
		}
		s.Withdraw(lease.Claim)
	}
	_ = s.Quarantine(addressOf(lock), "", now)
}

// countAvailable counts the addresses that the pool could allocate now.
func (s *supply) countAvailable() int64 {
	stats := s.Stats()
	if free := stats.Free.Int64(); free < math.MaxInt64-int64(stats.Idle) {
		return free + int64(stats.Idle)
	}
	return math.MaxInt64
}

// supplyOf is what is known of a pool; nil where nothing can be calculated.
func (l *ledger) supplyOf(name types.NamespacedName) *supply {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.supplies[name]; s != nil {
		return s.copyForRead()
	}
	return nil
}

// poolsBeside are the other pools of a network.
func (l *ledger) poolsBeside(name types.NamespacedName, network string) (out []*supply) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n, s := range l.supplies {
		if n != name && s.spec.Network == network {
			out = append(out, s.copyForRead())
		}
	}
	return out
}

// poolsWithAddress are the pools that an address on a network concerns: the one that it was taken from, and all of the network that
// have it too.
func (l *ledger) poolsWithAddress(from types.NamespacedName, network string, a netip.Addr) []types.NamespacedName {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sharingLocked(from, network, a)
}

func (l *ledger) sharingLocked(from types.NamespacedName, network string, a netip.Addr) []types.NamespacedName {
	names := []types.NamespacedName{from}
	if !a.IsValid() {
		return names
	}
	for name, s := range l.supplies {
		if name != from && s.spec.Network == network && s.Extent().Why(a) == "" {
			names = append(names, name)
		}
	}
	return names
}

// setPool records a pool as it is now; changed says that its spec was not known so. A pool that cannot be calculated with is
// dropped, so that it allocates nothing; its locks are not.
func (l *ledger) setPool(object *metal3.IPPool, spec ipam.Spec) (changed bool, err error) {
	object = object.DeepCopy() // the caller may change its own
	l.mu.Lock()
	defer l.mu.Unlock()
	name := client.ObjectKeyFromObject(object)
	if old := l.supplies[name]; old != nil && old.object.UID == object.UID && old.spec.Network == spec.Network {
		if old.object.Generation == object.Generation {
			old.object = object
			return false, nil
		}
		if _, err := old.Resize(spec); err == nil {
			old.object, old.spec = object, spec
			l.replayNetwork(old)
			return true, nil
		}
	}
	arithmetic, err := ipam.New(spec, ipam.Options{Now: l.now, Rand: rand.NewPCG(rand.Uint64(), rand.Uint64())})
	if err != nil {
		delete(l.supplies, name)
		return true, fmt.Errorf("calculate with pool %s: %w", name, err)
	}
	l.supplies[name] = &supply{Pool: arithmetic, object: object, spec: spec}
	l.replayNetwork(l.supplies[name])
	return true, nil
}

// replayNetwork applies everything that is known of a pool's network.
func (l *ledger) replayNetwork(s *supply) {
	s.locks, s.held = map[string]bool{}, 0
	for _, lock := range l.locks {
		if poolOf(lock) == s.poolName() {
			s.indexLock(lock)
		}
		s.applyLock(lock, l.now())
	}
	for _, objects := range l.objects {
		for _, o := range objects {
			l.reserveAddress(o)
		}
	}
}

func (l *ledger) dropPool(name types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.supplies, name)
}

// heldBy are the locks of a pool, and how many of them are held, whether or not it can be calculated with.
func (l *ledger) heldBy(name types.NamespacedName) (locks []*lockv1.AddressLock, held int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.supplies[name]; s != nil {
		for lockName := range s.locks {
			locks = append(locks, l.locks[lockName])
		}
		return locks, s.held
	}
	for _, lock := range l.locks {
		if poolOf(lock) != name {
			continue
		}
		locks = append(locks, lock)
		if lock.Spec.State == lockv1.LockHeld {
			held++
		}
	}
	return locks, held
}

// inTheWay is how many addresses of a pool other pools of its network have locked, and the lock of the lowest.
func (l *ledger) inTheWay(p *supply) (first *lockv1.AddressLock, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	extent := p.Extent()
	for _, lock := range l.locks {
		if lock.Spec.Network != p.spec.Network || poolOf(lock) == p.poolName() || extent.Why(addressOf(lock)) != "" {
			continue
		}
		if n++; first == nil || addressOf(lock).Less(addressOf(first)) {
			first = lock
		}
	}
	return first, n
}

// countIn is how long to wait until the status of a pool may be computed again; 0 means now.
func (l *ledger) countIn(name types.NamespacedName, every time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, now := l.supplies[name], l.now()
	if s == nil {
		return 0
	}
	if since := now.Sub(s.counted); since >= 0 && since < every { // a clock that was set back makes it due
		return every - since
	}
	s.counted = now
	return 0
}

// isPromised says that a pool has promised the address of a lock to the lock's claim: the lock is one that this process is making.
func (l *ledger) isPromised(lock *lockv1.AddressLock) bool {
	s := l.supplyOf(poolOf(lock))
	if s == nil || lock.Spec.Claim == nil {
		return false
	}
	lease, ok := s.Holder(addressOf(lock))
	return ok && lease.Claim == string(lock.Spec.Claim.UID)
}

// closedReason says why a pool allocates nothing new; empty where it does.
func (l *ledger) closedReason(s *supply) (reason, message string) {
	if s.object.DeletionTimestamp != nil {
		return metal3.ReasonDeleting, fmt.Sprintf("pool %s is being deleted and allocates no more addresses", s.spec.Name)
	}
	if err := l.notGranted(s); err != nil {
		return metal3.ReasonNotGranted, err.Error()
	}
	if certain, conflict := l.leasedConflict(s); conflict != nil && certain {
		return metal3.ReasonOverlap, conflict.Error() + ": an address would be leased and allocated at once"
	}
	for _, other := range l.poolsSharing(s) {
		if conflict := dhcpConflict(s.spec, other.spec); conflict != nil {
			return metal3.ReasonOverlap, conflict.Error()
		}
	}
	return "", ""
}

// dhcpConflict says that the DHCP range of one pool meets addresses of the other. Ranges of two pools may overlap: an address is
// locked on its network whatever pool it is taken from.
func dhcpConflict(a, b ipam.Spec) error {
	if !a.DHCP.IsValid() && !b.DHCP.IsValid() {
		return nil
	}
	all := ipam.Conflicts(a, b)
	a.DHCP, b.DHCP = netipx.IPRange{}, netipx.IPRange{}
	ranges := ipam.Conflicts(a, b)
	if all != nil && (ranges == nil || ranges.Error() != all.Error()) {
		return all
	}
	return nil
}
