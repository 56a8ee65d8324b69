package ipam

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// elected runs a replica that waits for its turn to lead.
func elected(w *world, lease string) func(*ctrl.Options) {
	return func(o *ctrl.Options) {
		length, renew, retry := 3*time.Second, 2*time.Second, 500*time.Millisecond
		o.LeaderElection, o.LeaderElectionID, o.LeaderElectionNamespace = true, lease, w.namespace
		o.LeaderElectionReleaseOnCancel, o.LeaseDuration, o.RenewDeadline, o.RetryPeriod = true, &length, &renew, &retry
	}
}

// A replica that does not lead writes nothing, but knows the pool and its claims when its turn comes.
func TestReplicaThatIsNotTheLeaderIsWarm(t *testing.T) {
	w := newWorld(t)
	w.pool("p", between(1, 9))
	leader := w.start(elected(w, "ipam"))
	w.claim("first", "p")
	w.address("first")
	standby := w.start(elected(w, "ipam"))
	w.eventually(func() bool {
		standby.queues.mu.Lock()
		defer standby.queues.mu.Unlock()
		return standby.queues.pools != nil && standby.queues.pools.Len() > 0
	}, "its queues are filled")
	w.claim("second", "p")
	w.address("second")
	require.Zero(t, standby.writes.Load())
	leader.stop()
	w.claim("third", "p")
	require.Equal(t, "192.0.2.3", w.address("third"))
	require.Positive(t, standby.writes.Load())
}

// taken has four addresses of a pool taken, each in a way of its own: with lock and object, with an object alone, resting, and with a
// lock whose claim got no further.
func (w *world) taken(pool *metal3.IPPool) {
	w.t.Helper()
	published := func(name, address string) (*lockv1.AddressLock, *metal3.IPAddress) {
		c := w.claim(name, pool.Name)
		lock, object := given(w, pool, c, address)
		c.Status.Address = &metal3.ObjectReference{Name: object.Name}
		require.NoError(w.t, w.api.Status().Update(w.t.Context(), c))
		return lock, object
	}
	lock, object := published("whole", "192.0.2.10")
	_, alone := published("registered", "192.0.2.11")
	until := metav1.NewTime(time.Now().Add(time.Hour))
	resting, _ := given(w, pool, w.claim("gone", "other"), "192.0.2.12")
	resting.Spec.State, resting.Spec.Claim, resting.Spec.Until = lockv1.LockQuarantined, nil, &until
	halfway, _ := given(w, pool, w.claim("halfway", pool.Name), "192.0.2.13")
	for _, o := range []client.Object{lock, object, alone, resting, halfway} {
		require.NoError(w.t, w.api.Create(w.t.Context(), o))
	}
}

// A replica that starts gives away nothing that is taken, and completes what its predecessor began.
func TestStartWithAddressesThatAreTaken(t *testing.T) {
	w := newWorld(t)
	w.taken(w.pool("p", func(s *metal3.IPPoolSpec) { between(10, 15)(s); s.Quarantine = "1h" }))
	w.claim("new", "p")
	w.contractClaim("newer", "p")
	w.start()
	require.ElementsMatch(t, []string{"192.0.2.14", "192.0.2.15"}, []string{w.address("new"), w.contractAddress("newer")}, "all that is left")
	for name, address := range map[string]string{"whole": "192.0.2.10", "registered": "192.0.2.11", "halfway": "192.0.2.13"} {
		require.Equal(t, address, w.address(name))
	}
	w.eventually(func() bool { return len(w.locks()) == 6 }, "each address has one lock, the registered one too")
}

// A process that is suspended in the middle of its writes, and has lost its lease, does not hold up its successor.
func TestPredecessorThatHangs(t *testing.T) {
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

// A lock whose creation failed is not promised any more: the address goes to the next claim, also in a pool of one address.
func TestAddressWhoseLockCouldNotBeMade(t *testing.T) {
	w := newWorld(t)
	w.pool("p", between(1, 1))
	h := w.byHand()
	h.lookAtPool("p")
	w.claim("unlucky", "p")
	h.failing = true
	_, err := h.reconcileClaim(t.Context(), native{}, types.NamespacedName{Namespace: w.namespace, Name: "unlucky"})
	require.ErrorContains(t, err, "lock "+w.network+".192.0.2.1")
	h.failing = false
	h.claimed("next", "p")
	require.Equal(t, "192.0.2.1", w.addressNow("next"))
}
