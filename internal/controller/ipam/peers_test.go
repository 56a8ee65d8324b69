package ipam

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

func by(name string) *lockv1.AddressLock {
	return &lockv1.AddressLock{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{lockv1.ReplicaAnnotation: name}}}
}

// Replicas that know of each other agree on whose each claim is, and on which part of a pool is whose.
func TestPeersAgree(t *testing.T) {
	now := time.Now()
	clock := func() time.Time { return now }
	names := []string{"a", "b", "c"}
	all := map[string]*peers{}
	for _, self := range names {
		all[self] = newPeers(self, clock)
		for _, other := range names {
			all[self].hear(by(other))
		}
	}
	served := map[string]int{}
	for i := range 300 {
		for name, p := range all {
			if !p.leave(types.UID(fmt.Sprint("claim-", i))) {
				served[name]++
			}
		}
	}
	require.Equal(t, 300, served["a"]+served["b"]+served["c"], "each claim is one replica's")
	for i, name := range names {
		require.Greater(t, served[name], 50, "claims of %s", name)
		require.Equal(t, ipam.Share{Nth: i, Of: 3}, all[name].share())
	}
}

// A peer that does not begin what is left to it is not counted on, until it is heard of again.
func TestPeerThatDoesNothing(t *testing.T) {
	now := time.Now()
	p := newPeers("a", func() time.Time { return now })
	require.Equal(t, ipam.Share{Nth: 0, Of: 1}, p.share())
	p.hear(by("a"))
	p.hear(by(""))
	require.Equal(t, ipam.Share{Nth: 0, Of: 1}, p.share())
	p.hear(by("b"))
	theirs := types.UID("")
	for i := 0; theirs == ""; i++ {
		if uid := types.UID(fmt.Sprint(i)); p.leave(uid) {
			theirs = uid
		}
	}
	now = now.Add(untilTaken)
	require.True(t, p.leave(theirs))
	now = now.Add(1)
	require.False(t, p.leave(theirs))
	require.Equal(t, ipam.Share{Nth: 0, Of: 1}, p.share())
	p.hear(by("b"))
	require.True(t, p.leave(theirs))
	p.hear(by("b"))
	now = now.Add(untilForgotten + 1)
	require.False(t, p.leave(theirs), "it has not been heard of for long")
}

// Two replicas that look at the same claims, neither having seen anything of the other but the locks it met: three writes for
// nearly each claim.
func TestTwoReplicasSeldomMeet(t *testing.T) {
	w := newWorld(t)
	w.pool("p", func(s *metal3.IPPoolSpec) {
		subnet := metal3.IPSubnetStr("10.0.0.0/16")
		s.Pools, s.Prefix = []metal3.Pool{{Subnet: &subnet}}, 16
	})
	a, b := w.start(), w.start()
	w.poolReason("p", metal3.ReasonAvailable)
	const n = 300
	before := a.writes.Load() + b.writes.Load()
	begun := time.Now()
	for i := range n {
		w.claim(fmt.Sprintf("c%d", i), "p")
	}
	for i := range n {
		w.address(fmt.Sprintf("c%d", i))
	}
	counts := 2 * (int64(time.Since(begun)/publishEvery) + 2) // of the pool, by either
	attempts := a.writes.Load() + b.writes.Load() - before - counts
	t.Logf("%d attempts for %d claims, %d of a, %d of b", attempts, n, a.writes.Load(), b.writes.Load())
	require.Less(t, attempts, int64(3.3*n))
	require.Len(t, w.locks(), n)
}

// A replica that is held up in the middle of its claims does not hold them up.
func TestClaimsOfAPeerThatHangs(t *testing.T) {
	w := newWorld(t)
	w.pool("p", between(1, 200))
	w.start()
	b := w.start()
	for i := range 40 {
		w.claim(fmt.Sprintf("c%d", i), "p")
	}
	for i := range 40 {
		w.address(fmt.Sprintf("c%d", i))
	}
	g := &gate{shut: make(chan struct{})}
	halt := g.pass
	b.fail.Store(&halt)
	for i := range 40 {
		w.claim(fmt.Sprintf("d%d", i), "p")
	}
	for i := range 40 {
		w.address(fmt.Sprintf("d%d", i))
	}
	close(g.shut)
	w.eventually(func() bool { return len(w.audit()) == 0 }, "in the end all is in order")
}
