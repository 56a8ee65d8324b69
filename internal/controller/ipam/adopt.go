package ipam

import (
	"net/netip"
	"strings"
	"time"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

// Address objects may be older than locks: an installer registers those of the masters, a former controller
// leaves what it gave out. Such an address is given to nobody but the claim that the object names, which
// gets a lock for it as soon as it is looked at.

// note learns of an address object; fresh says that no lock of its claim guards its address.
func (l *ledger) note(h held) (fresh bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addObject(h)
	a, err := ipam.ParseAddr(h.address)
	if err != nil || h.pool.Name == "" {
		return false
	}
	name := lockv1.LockName(l.networkOf(h), a)
	if l.locks[name] != nil {
		return !l.guarded(h, name) // the address is another claim's: nothing to note, but its claim is to be looked at
	}
	if _, noted := l.unlocked[name]; noted {
		return false
	}
	l.unlocked[name], l.adoptable[h.claim] = h.claim, adoptable{a, h.GetName()}
	for _, p := range l.pools {
		p.reserveUnlocked(name)
	}
	return true
}

// unnote learns that an address object is gone.
func (l *ledger) unnote(h held) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropObject(h)
	a, err := ipam.ParseAddr(h.address)
	if err != nil {
		return
	}
	name := lockv1.LockName(l.networkOf(h), a)
	k, was := l.unlocked[name]
	if !was {
		return
	}
	delete(l.unlocked, name)
	delete(l.adoptable, k)
	for _, p := range l.pools {
		if lease, ok := p.Holder(a); ok && lease.Claim == unlockedPrefix+name {
			p.Release(lease.Claim)
			_ = p.Quarantine(a, "", time.Time{})
		}
	}
}

func (l *ledger) networkOf(h held) string {
	if p := l.pools[h.pool]; p != nil {
		return p.spec.Network
	}
	return metal3.DefaultNetwork
}

// adoptable is the address of an object without a lock, and the object's name.
type adoptable struct {
	netip.Addr
	name string
}

// unlockedOf is the address of the object without a lock that names the claim.
func (l *ledger) unlockedOf(k key) (adoptable, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, ok := l.adoptable[k]
	return a, ok
}

// unlockedPrefix begins what stands for the claim of an address object without a lock.
const unlockedPrefix = "unlocked:"

func (p *pool) reserveUnlocked(lockName string) {
	network, text, _ := strings.Cut(lockName, ".")
	if network != p.spec.Network {
		return
	}
	if a, err := netip.ParseAddr(strings.ReplaceAll(text, "-", ":")); err == nil {
		if _, taken := p.Holder(a); !taken {
			p.restore(ipam.Holding{Claim: unlockedPrefix + lockName, Address: a}, false)
		}
	}
}
