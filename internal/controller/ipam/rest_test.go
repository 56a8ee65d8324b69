package ipam

import (
	"testing"

	"github.com/stretchr/testify/require"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
)

// The reconciliation of a pool that is gone does not ask for itself again.
func TestDeletedPoolIsReconciledOnce(t *testing.T) {
	w := newWorld(t)
	p := w.pool("p", between(1, 9))
	h := w.byHand()
	h.lookAtPool("p")
	h.claimed("c", "p")
	h.pools.drain()
	h.gone(&metal3.IPClaim{ObjectMeta: w.meta("c")})
	require.NoError(t, w.api.Delete(t.Context(), p))
	h.lookAtPool("p")
	h.pools.drain()
	h.lookAtPool("p")
	require.Zero(t, h.pools.Len(), "reconciliations of the pool that were asked for")
}

// Pools that were deleted, one of them with a waiting claim and one with a neighbour that its DHCP range closed, leave every
// controller at rest; so do claims of either kind that are served, that wait and that name no pool.
func TestControllersComeToRest(t *testing.T) {
	w := newWorld(t)
	w.pool("p", between(1, 1))
	w.pool("closed", between(100, 120))
	q := w.pool("q", func(s *metal3.IPPoolSpec) {
		between(10, 10)(s)
		s.DHCPRange = &metal3.DHCPRange{Start: "192.0.2.50", End: "192.0.2.110"}
	})
	w.start()
	w.claim("served", "p")
	w.address("served")
	w.contractClaim("waits", "p")
	w.claim("stray", "nowhere")
	w.reason("stray", metal3.ReasonPoolNotFound)
	c := w.claim("c", "q")
	w.reason("c", metal3.ReasonPoolNotReady)
	w.claim("d", "closed")
	w.reason("d", metal3.ReasonPoolNotReady)
	w.delete(q)
	w.address("d")
	w.reason("c", metal3.ReasonPoolNotFound)
	w.delete(c)
	apitest.RequireRest(t, "ippool", "ipam-IPClaim", "ipam-IPAddressClaim")
}
