package ipam

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// later waits until a claim that is made now is younger than another: the API server knows their age to the second.
func (w *world) later(than *metal3.IPClaim) {
	w.t.Helper()
	w.eventually(func() bool { return time.Now().Truncate(time.Second).After(than.CreationTimestamp.Time) }, "a second passes")
}

// The claim that was created first is served first, in whatever order they were tried.
func TestClaimsWaitInTheOrderOfTheirCreation(t *testing.T) {
	w := newWorld(t)
	w.pool("p", between(1, 1))
	h := w.byHand()
	x := h.claimed("x", "p")
	old := w.claim("z-old", "p")
	w.later(old)
	h.claimed("a-young", "p")
	h.look("z-old")
	h.gone(x)
	h.drain()
	require.Equal(t, "192.0.2.1", w.addressNow("z-old"))
	require.Empty(t, w.addressNow("a-young"))
}

// A claim that comes just when an address is freed does not take it from those that wait.
func TestNewClaimDoesNotOvertake(t *testing.T) {
	w := newWorld(t)
	w.pool("p", between(1, 1))
	h := w.byHand()
	x := h.claimed("x", "p")
	old := h.claimed("old", "p")
	w.later(old)
	w.claim("young", "p")
	h.gone(x) // wakes the old claim, which is not reconciled yet
	require.Zero(t, h.look("young").RequeueAfter, "it is woken, it does not poll")
	require.Contains(t, w.reason("young", metal3.ReasonPoolExhausted), "created earlier")
	h.drain()
	require.Equal(t, "192.0.2.1", w.addressNow("old"))
	h.gone(old)
	h.drain()
	require.Equal(t, "192.0.2.1", w.addressNow("young"))
}

// Claims that are gone, or paused, have no right to an address before others.
func TestNewClaimDoesNotWaitForOneThatIsGone(t *testing.T) {
	w := newWorld(t)
	w.pool("p", between(1, 1))
	h := w.byHand()
	x := h.claimed("x", "p")
	gone, paused := h.claimed("gone", "p"), h.claimed("paused", "p")
	w.later(paused)
	change(w, paused, func(c *metal3.IPClaim) { c.Annotations = map[string]string{metal3.PausedAnnotation: ""} })
	h.look("paused")
	h.gone(gone)
	w.claim("young", "p")
	h.gone(x)
	h.look("young")
	require.Equal(t, "192.0.2.1", w.addressNow("young"))
}

// A claim that is seen before its pool, as when both are applied together, reports nothing until it is served.
func TestPoolThatComesWithItsClaimIsNotMissed(t *testing.T) {
	w := newWorld(t)
	h := w.byHand()
	ahead := h.clocked()
	c := w.claim("c", "p")
	require.NotZero(t, h.look("c").RequeueAfter)
	require.NoError(t, w.get("c", c))
	require.Empty(t, c.Status.Conditions)
	w.pool("p", between(1, 9))
	require.NotZero(t, h.look("c").RequeueAfter, "nor while the pool is not read yet")
	require.NoError(t, w.get("c", c))
	require.Empty(t, c.Status.Conditions)
	h.lookAtPool("p")
	h.drain()
	require.Equal(t, "192.0.2.1", w.addressNow("c"))

	w.claim("stray", "nowhere")
	h.look("stray")
	ahead.Store(int64(poolGrace))
	h.look("stray")
	w.reason("stray", metal3.ReasonPoolNotFound)
}

// What no address object or lock can be made of ends in a condition, with no address taken.
func TestWhatCanNotBeStoredIsReported(t *testing.T) {
	w := newWorld(t)
	w.admitAny("namePrefix", func() {
		bad := &metal3.IPPool{ObjectMeta: w.meta("bad"), Spec: metal3.IPPoolSpec{NamePrefix: "Not_A_Name", Network: w.network, Prefix: 24}}
		between(20, 29)(&bad.Spec)
		w.eventually(func() bool { return w.api.Create(t.Context(), bad) == nil }, "the pool is stored")
	})
	w.pool("p", between(1, 9))
	r := w.start()
	w.claim("misnamed", "bad")
	require.Contains(t, w.reason("misnamed", metal3.ReasonAllocationFailed), `makes the name "Not_A_Name-192-0-2-20"`)
	w.claim("far", "p", forHost(strings.Repeat("h", 5000)))
	require.Contains(t, w.reason("far", metal3.ReasonAllocationFailed), "has 5000 characters")
	w.claim("long", "p", requested(strings.Repeat("1", 50000)))
	require.LessOrEqual(t, len(w.reason("long", metal3.ReasonAddressOutside)), 1024, "as long as an event may be")
	w.claim("good", "p")
	require.Equal(t, "192.0.2.1", w.address("good"))
	require.Len(t, w.locks(), 1)
	before := r.writes.Load()
	require.Never(t, func() bool { return r.writes.Load() > before+2 }, 3*time.Second, tick, "it is not tried all the time")
}

// An address object that the API server refuses, for a quota too, is reported, and its address is free for others. A claim of a host
// keeps it: it may be the one that the host runs with.
func TestARefusedAddressObjectIsReported(t *testing.T) {
	w := newWorld(t)
	w.pool("p", between(1, 9))
	r := w.start()
	full := func(verb string, o client.Object) error {
		if _, address := o.(*metal3.IPAddress); verb != "create" || !address {
			return nil
		}
		return apierrors.NewForbidden(schema.GroupResource{Group: "ipam.metal3.io", Resource: "ipaddresses"}, o.GetName(),
			errors.New("exceeded quota: q"))
	}
	r.fail.Store(&full)
	w.claim("c", "p")
	require.Contains(t, w.reason("c", metal3.ReasonAllocationFailed), "exceeded quota: q")
	w.eventually(func() bool { return strings.Contains(strings.Join(r.events(), "\n"), "exceeded quota: q") }, "an event says so")
	w.noLocks()
	w.claim("hosted", "p", forHost("h"))
	w.reason("hosted", metal3.ReasonAllocationFailed)
	w.eventually(func() bool { l := w.locks(); return len(l) == 1 && l[0].Spec.Host == "h" }, "the address of the host is kept")
	r.fail.Store(nil)
	w.claim("next", "p")
	require.NotEmpty(t, w.address("next"))
}
