package ipam

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// clocked gives a replica a clock that the test sets ahead of the real one.
func (h *hand) clocked() (ahead *atomic.Int64) {
	ahead = &atomic.Int64{}
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	h.Now, h.ledger.now = now, now
	return ahead
}

// A clock that was wrong by years, and was set back, does not freeze the status of a pool until those years are over.
func TestStatusOfAPoolAfterTheClockWasSetBack(t *testing.T) {
	w := newWorld(t)
	w.pool("p", between(1, 9))
	h := w.byHand()
	ahead := h.clocked()
	ahead.Store(int64(10 * 365 * 24 * time.Hour))
	h.lookAtPool("p")
	w.poolReason("p", metal3.ReasonAvailable)
	ahead.Store(0)
	h.claimed("c", "p")
	h.lookAtPool("p")
	p := &metal3.IPPool{}
	require.NoError(t, w.get("p", p))
	require.EqualValues(t, 1, p.Status.Used)
}

// A quarantine that began while the clock was wrong by years lasts no longer than its pool says.
func TestQuarantineAfterTheClockWasSetBack(t *testing.T) {
	w := newWorld(t)
	w.pool("p", func(s *metal3.IPPoolSpec) { between(1, 1)(s); s.Quarantine = "1h" })
	h := w.byHand()
	ahead := h.clocked()
	ahead.Store(int64(10 * 365 * 24 * time.Hour))
	h.lookAtPool("p")
	h.gone(h.claimed("c", "p"))
	require.Equal(t, lockv1.LockQuarantined, w.locks()[0].Spec.State)
	ahead.Store(0)
	h.lookAtPool("p")
	require.Less(t, time.Until(w.locks()[0].Spec.Until.Time), 2*time.Hour)
	h.claimed("d", "p")
	w.reason("d", metal3.ReasonPoolExhausted)
	ahead.Store(int64(2 * time.Hour))
	h.lookAtPool("p")
	h.drain()
	require.Equal(t, "192.0.2.1", w.addressNow("d"))
}

// A quarantine follows its pool, which may be edited meanwhile.
func TestQuarantineIsShortenedWithItsPool(t *testing.T) {
	w := newWorld(t)
	p := w.pool("p", func(s *metal3.IPPoolSpec) { between(1, 1)(s); s.Quarantine = "24h" })
	w.start()
	w.claim("c", "p")
	w.address("c")
	w.delete(&metal3.IPClaim{ObjectMeta: w.meta("c")})
	w.eventually(func() bool { return len(w.locks()) == 1 && w.locks()[0].Spec.State == lockv1.LockQuarantined }, "the address rests")
	change(w, p, func(p *metal3.IPPool) { p.Spec.Quarantine = "" })
	w.noLocks()
}
