package ipam

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// hand is a replica whose looks are called by the test, in the order that the test wants: no manager, no watch.
type hand struct {
	*Reconciler
	w      *world
	claims queue
	pools  drained
	// made counts the locks that it tried to make.
	made int
	// creating, if set, is called before a lock is made.
	creating func()
	// failing has each attempt to make a lock fail.
	failing bool
	// reading, if set, is called before a read, and may make its answer what the cache of a replica could say.
	reading func(o client.Object)
}

func (w *world) byHand() *hand {
	w.t.Helper()
	h := &hand{w: w}
	quick := rest.CopyConfig(w.server.Config)
	quick.QPS = -1
	base, err := client.NewWithWatch(quick, client.Options{Scheme: w.server.Scheme})
	require.NoError(w.t, err)
	cached := interceptor.NewClient(base, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if h.reading != nil {
				h.reading(o)
			}
			return c.Get(ctx, key, o, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if _, lock := o.(*lockv1.AddressLock); lock {
				h.made++
				if h.creating != nil {
					h.creating()
				}
				if h.failing {
					return apierrors.NewInternalError(errors.New("injected"))
				}
			}
			return c.Create(ctx, o, opts...)
		},
	})
	metrics, err := NewMetrics(prometheus.NewRegistry())
	require.NoError(w.t, err)
	h.Reconciler = New(Options{Client: cached, Reader: base, Events: events.NewFakeRecorder(1000), Log: slog.New(slog.DiscardHandler),
		Metrics: metrics, Now: time.Now})
	newQueue := func() queue {
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		w.t.Cleanup(q.ShutDown)
		return q
	}
	h.claims, h.pools = newQueue(), drained{newQueue()}
	h.queues.claims, h.queues.pools = map[string]queue{"IPClaim": h.claims}, h.pools
	return h
}

// drained is a queue that a test may empty.
type drained struct{ queue }

func (q drained) drain() {
	for q.Len() > 0 {
		item, _ := q.Get()
		q.Done(item)
	}
}

// look has the replica look at a claim.
func (h *hand) look(name string) reconcile.Result {
	h.w.t.Helper()
	result, err := h.reconcileClaim(h.w.t.Context(), native{}, types.NamespacedName{Namespace: h.w.namespace, Name: name})
	require.NoError(h.w.t, err)
	return result
}

func (h *hand) lookAtPool(name string) {
	h.w.t.Helper()
	_, err := h.reconcilePool(h.w.t.Context(), types.NamespacedName{Namespace: h.w.namespace, Name: name})
	require.NoError(h.w.t, err)
}

// drain has the replica look at whatever it was asked for, until nothing is left.
func (h *hand) drain() {
	h.w.t.Helper()
	for h.claims.Len() > 0 {
		q, _ := h.claims.Get()
		if q.Namespace == h.w.namespace {
			h.look(q.Name)
		}
		h.claims.Done(q)
	}
}

// claimed makes a claim and has it looked at.
func (h *hand) claimed(name, pool string, change ...func(*metal3.IPClaim)) *metal3.IPClaim {
	h.w.t.Helper()
	c := h.w.claim(name, pool, change...)
	h.look(name)
	return c
}

// gone deletes a claim, and has it looked at as its event would.
func (h *hand) gone(c *metal3.IPClaim) {
	h.w.t.Helper()
	h.w.delete(c)
	h.look(c.Name)
}

// A claim whose turn it was, but that is gone, leaves its turn to the one behind it.
func TestTurnOfAClaimThatIsGone(t *testing.T) {
	w := newWorld(t)
	w.pool("p", between(1, 1))
	h := w.byHand()
	x := h.claimed("x", "p")
	gone := h.claimed("gone", "p")
	h.claimed("next", "p")
	require.Empty(t, w.addressNow("next"))
	h.gone(gone)
	h.gone(x)
	h.drain()
	require.Equal(t, "192.0.2.1", w.addressNow("next"))
}

// A claim that wants an address that is taken does not use the turn up that belongs to those who take any.
func TestTurnOfAClaimThatWantsAnother(t *testing.T) {
	w := newWorld(t)
	w.pool("p", between(1, 2))
	h := w.byHand()
	x := h.claimed("x", "p")
	y := h.claimed("y", "p")
	h.claimed("picky", "p", requested("192.0.2.1"))
	h.claimed("next", "p")
	require.Empty(t, w.addressNow("next"))
	h.gone(y)
	h.drain()
	require.Equal(t, "192.0.2.2", w.addressNow("next"))
	h.gone(x)
	h.drain()
	require.Equal(t, "192.0.2.1", w.addressNow("picky"))
}

// A paused claim's turn is not lost to the others either.
func TestTurnOfAPausedClaim(t *testing.T) {
	w := newWorld(t)
	w.pool("p", between(1, 1))
	h := w.byHand()
	x := h.claimed("x", "p")
	c := h.claimed("paused", "p")
	h.claimed("next", "p")
	change(w, c, func(c *metal3.IPClaim) { c.Annotations = map[string]string{metal3.PausedAnnotation: ""} })
	h.gone(x)
	h.drain()
	require.Equal(t, "192.0.2.1", w.addressNow("next"))
}

// An address that is kept for a name is not among the free ones, but is news to the claim of that name.
func TestPreAllocatedAddressComesBackInAFullPool(t *testing.T) {
	w := newWorld(t)
	p := w.pool("p", between(1, 2))
	h := w.byHand()
	x := h.claimed("x", "p")
	h.claimed("y", "p")
	change(w, p, func(p *metal3.IPPool) { p.Spec.PreAllocations = map[string]metal3.IPAddressStr{"master": "192.0.2.1"} })
	h.lookAtPool("p")
	h.claimed("master", "p")
	require.Contains(t, w.reason("master", metal3.ReasonAddressTaken), "192.0.2.1")
	h.gone(x)
	h.drain()
	require.Equal(t, "192.0.2.1", w.addressNow("master"))
}

// The pool appears just when a claim is about to wait for it: who told of it did not find the claim waiting.
func TestPoolAppearsWhileAClaimIsAboutToWait(t *testing.T) {
	w := newWorld(t)
	h := w.byHand()
	c := w.claim("c", "p")
	h.reading = func(o client.Object) {
		if _, asks := o.(*metal3.IPPool); asks {
			h.reading = nil
			w.pool("p", between(1, 1))
			h.lookAtPool("p")
		}
	}
	result := h.look(c.Name)
	h.drain()
	if w.addressNow("c") == "" {
		require.NotZero(t, result.RequeueAfter, "nobody else asks for it again")
		h.look(c.Name)
	}
	require.Equal(t, "192.0.2.1", w.addressNow("c"))
}

// A pool that another's DHCP range closed is open again when that is gone, and serves who waits.
func TestClosedPoolOpensAgain(t *testing.T) {
	w := newWorld(t)
	w.pool("p", between(100, 120))
	q := w.pool("q", func(s *metal3.IPPoolSpec) {
		between(1, 9)(s)
		s.DHCPRange = &metal3.DHCPRange{Start: "192.0.2.50", End: "192.0.2.110"}
	})
	h := w.byHand()
	h.lookAtPool("p")
	h.lookAtPool("q")
	h.claimed("c", "p")
	w.reason("c", metal3.ReasonPoolNotReady)
	require.NoError(t, w.api.Delete(t.Context(), q))
	h.lookAtPool("q")
	h.lookAtPool("q")
	h.drain()
	require.Equal(t, "192.0.2.100", w.addressNow("c"))
}

// A new leader whose cache is far behind meets each lock of its predecessor once, and gives none of those addresses away.
func TestLeaderWhoseCacheIsBehind(t *testing.T) {
	w := newWorld(t)
	w.pool("p", between(1, 200))
	a, b := w.byHand(), w.byHand()
	b.lookAtPool("p")
	for i := range 100 {
		a.claimed(fmt.Sprintf("a%d", i), "p")
	}
	require.Equal(t, 100, a.made)
	for i := range 20 {
		name := fmt.Sprintf("b%d", i)
		w.claim(name, "p")
		for w.addressNow(name) == "" {
			_, err := b.reconcileClaim(t.Context(), native{}, types.NamespacedName{Namespace: w.namespace, Name: name})
			require.True(t, err == nil || errors.Is(err, errBusy), "%v", err)
		}
		require.Equal(t, fmt.Sprintf("192.0.2.%d", 101+i), w.addressNow(name))
	}
	require.LessOrEqual(t, b.made, 100+20)
}

// A leader and its predecessor may leave a claim two locks for a while. Neither address is free to others meanwhile, nor tried
// for; the one that the claim does not keep is afterwards.
func TestClaimWithTwoLocks(t *testing.T) {
	w := newWorld(t)
	w.pool("p", between(1, 9))
	a := w.byHand()
	a.claimed("x", "p")
	second := w.locks()[0]
	second.ObjectMeta = metav1.ObjectMeta{Name: lockv1.LockName(w.network, netip.MustParseAddr("192.0.2.2"))}
	second.Spec.Address, second.Spec.AddressName = "192.0.2.2", "p-192-0-2-2"
	require.NoError(t, w.api.Create(t.Context(), &second))
	b := w.byHand()
	b.claimed("y", "p")
	require.Equal(t, "192.0.2.3", w.addressNow("y"))
	require.Equal(t, 1, b.made)
	b.drain()
	b.look("x")
	require.Equal(t, "192.0.2.1", w.addressNow("x"))
	require.Len(t, w.locks(), 2)
	b.claimed("z", "p")
	require.Equal(t, "192.0.2.2", w.addressNow("z"))
}
