package ipam

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/kinds"
)

// Two pools have the same addresses of one network. Claims of one of them wait, the other frees all: those that wait are served.
func TestAnAddressThatAnotherPoolFreesServesThoseThatWait(t *testing.T) {
	w := newWorld(t)
	w.pool("a", between(1, 3))
	w.pool("b", between(1, 3))
	w.start()
	holders := make([]*metal3.IPClaim, 3)
	for i := range holders {
		holders[i] = w.claim(fmt.Sprintf("b%d", i), "b")
		w.address(holders[i].Name)
	}
	w.claim("a0", "a")
	w.contractClaim("a1", "a")
	w.claim("picky", "a", requested("192.0.2.2"))
	w.reason("a0", metal3.ReasonPoolExhausted)
	w.reason("picky", metal3.ReasonAddressTaken)
	for _, name := range []string{"a", "b"} {
		w.poolReason(name, metal3.ReasonExhausted)
	}
	// Those that take any address are older than the one that asks for 192.0.2.2, and would be given it: it is freed last.
	var asked *metal3.IPClaim
	for _, c := range holders {
		if w.addressNow(c.Name) == "192.0.2.2" {
			asked = c
			continue
		}
		w.delete(c)
	}
	w.address("a0")
	w.contractAddress("a1")
	w.delete(asked)
	require.Equal(t, "192.0.2.2", w.address("picky"))
	for _, name := range []string{"a", "b"} {
		w.poolReason(name, metal3.ReasonExhausted)
	}
}

// What a pool counts follows what other pools of its network take of its addresses.
func TestCountsFollowTheOtherPoolsOfTheNetwork(t *testing.T) {
	w := newWorld(t)
	w.pool("a", between(1, 4))
	w.pool("b", between(3, 6))
	w.start()
	free := func(pool, want string) {
		t.Helper()
		p := &metal3.IPPool{}
		w.eventually(func() bool { return w.get(pool, p) == nil && p.Status.Free == want }, "%s of pool %s are free", want, pool)
	}
	free("a", "4")
	c := w.claim("c", "b", requested("192.0.2.3"))
	free("a", "3")
	w.delete(c)
	free("a", "4")
}

// Claims that leave the free addresses to older ones do not poll: with many of them the controller is at rest, and each is served in
// its turn.
func TestClaimsThatWaitForTheirTurnDoNotSpin(t *testing.T) {
	w := newWorld(t)
	w.pool("a", between(1, 4))
	w.pool("b", between(1, 4))
	w.start()
	holders := make([]*metal3.IPClaim, 4)
	for i := range holders {
		holders[i] = w.claim(fmt.Sprintf("b%d", i), "b")
		w.address(holders[i].Name)
	}
	for i := range 4 {
		w.claim(fmt.Sprintf("old%d", i), "a")
		w.reason(fmt.Sprintf("old%d", i), metal3.ReasonPoolExhausted)
	}
	for i := range 100 {
		w.claim(fmt.Sprintf("young%d", i), "a")
	}
	for _, c := range holders {
		w.delete(c)
	}
	for i := range 4 {
		w.address(fmt.Sprintf("old%d", i))
	}
	w.reason("young99", metal3.ReasonPoolExhausted)
	apitest.RequireRest(t, "ippool", "ipam-IPClaim")
}

// A claim that left its place to an older one is served when that one does not take the address.
func TestAnAddressThatTheOldestDoesNotTakeGoesToTheNext(t *testing.T) {
	w := newWorld(t)
	w.pool("p", between(1, 1))
	h := w.byHand()
	x := h.claimed("x", "p")
	old := h.claimed("old", "p")
	w.later(old)
	w.claim("young", "p")
	h.gone(x) // wakes the old claim, which is not reconciled yet
	h.look("young")
	require.Contains(t, w.reason("young", metal3.ReasonPoolExhausted), "created earlier")
	w.delete(old)
	h.drain()
	require.Equal(t, "192.0.2.1", w.addressNow("young"))
}

// An address that was promised to a claim which got no lock is given to the claim that was refused meanwhile.
func TestAPromiseThatIsTakenBackServesTheNext(t *testing.T) {
	w := newWorld(t)
	w.pool("p", between(1, 1))
	h := w.byHand()
	first := w.claim("first", "p")
	w.claim("second", "p")
	h.creating = func() { // the lock of the first is being made
		h.creating = nil
		h.look("second")
		w.reason("second", metal3.ReasonPoolExhausted)
		h.failing = true
	}
	_, err := h.reconcileClaim(t.Context(), native{}, client.ObjectKeyFromObject(first))
	require.Error(t, err)
	h.failing = false
	w.delete(first)
	h.drain()
	require.Equal(t, "192.0.2.1", w.addressNow("second"))
}

// record has a ledger know a pool, without an API.
func record(t *testing.T, l *ledger, p *metal3.IPPool) types.NamespacedName {
	t.Helper()
	spec, err := kinds.Spec(p)
	require.NoError(t, err)
	_, err = l.setPool(p, spec)
	require.NoError(t, err)
	return client.ObjectKeyFromObject(p)
}

// No claim is woken again and again for a free address that it does not get.
func TestAClaimIsNotWokenForEver(t *testing.T) {
	l := newLedger(time.Now)
	p := &metal3.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p"}, Spec: metal3.IPPoolSpec{Prefix: 24}}
	between(1, 9)(&p.Spec)
	pool := record(t, l, p)
	k := native{}.keyOf(pool)
	as := waiter{key: k, pool: pool, any: true, news: l.newsOf(pool)}
	require.True(t, l.addWaiter(as))
	woken := 0
	for range 100 {
		if len(l.endTurn(k, pool)) == 0 {
			continue
		}
		woken++
		as.news = l.newsOf(pool)
		require.True(t, l.addWaiter(as))
	}
	require.Equal(t, wakesWithoutNews, woken)
	require.Len(t, l.wakeAgain(), 1, "the poll tries it again")
}
