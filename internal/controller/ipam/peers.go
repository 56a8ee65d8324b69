package ipam

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

// Replicas that are active at one time share the claims, and prefer different addresses, so that they seldom want the same
// lock. Nobody tells them of each other but the locks: each says who wrote it. What a replica believes of its peers only
// decides who goes first; it may be wrong, and costs attempts or a few seconds then, never an address given out twice.

const (
	// untilForgotten is how long a peer that has not been heard of is counted on.
	untilForgotten = time.Minute
	// untilOverdue is how old a claim is that is not left to a peer any more, whatever that does: longer than thousands
	// of claims that are made at one time wait for their turn.
	untilOverdue = 15 * time.Minute
)

// peers are the other replicas that this one has heard of.
type peers struct {
	self string
	now  func() time.Time

	mu    sync.Mutex
	known map[string]*peer
}

// peer is one of them: when it was heard of last, and since when something has been left to it that it has not begun.
type peer struct{ heard, left time.Time }

func newPeers(self string, now func() time.Time) *peers {
	return &peers{self: self, now: now, known: map[string]*peer{}}
}

// hear learns from a lock that was just written who is at work.
func (p *peers) hear(lock *lockv1.AddressLock) {
	name := lock.Annotations[lockv1.ReplicaAnnotation]
	if name == "" || name == p.self {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known[name] = &peer{heard: p.now()}
}

// wrote says that another replica wrote the lock.
func (p *peers) wrote(lock *lockv1.AddressLock) bool {
	return lock.Annotations[lockv1.ReplicaAnnotation] != p.self
}

// alive are the names of the replicas that are counted on, in order, this one among them.
func (p *peers) alive() []string {
	names := []string{p.self}
	for name, k := range p.known {
		idle := !k.left.IsZero() && p.now().Sub(k.left) > untilTaken
		switch {
		case p.now().Sub(k.heard) > untilForgotten:
			delete(p.known, name)
		case !idle:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// share is the part of each pool that this replica prefers.
func (p *peers) share() ipam.Share {
	p.mu.Lock()
	defer p.mu.Unlock()
	names := p.alive()
	return ipam.Share{Nth: slices.Index(names, p.self), Of: len(names)}
}

// leave says that a claim is a peer's to serve, and remembers that it was left to it.
func (p *peers) leave(claim types.UID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	names := p.alive()
	first := slices.MaxFunc(names, func(a, b string) int { return weight(a, claim).Compare(weight(b, claim)) })
	if first == p.self {
		return false
	}
	if k := p.known[first]; k.left.IsZero() {
		k.left = p.now()
	}
	return true
}

// weight makes all replicas agree on whose a claim is, and moves few claims when one comes or goes.
func weight(name string, claim types.UID) ipam.Count {
	sum := sha256.Sum256([]byte(name + "/" + string(claim)))
	return ipam.CountOf(binary.BigEndian.Uint64(sum[:]))
}
