package ipam

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/manifest"
)

var strategies = map[string]func(*metal3.IPPoolSpec){
	"sequential": func(*metal3.IPPoolSpec) {},
	"random":     func(s *metal3.IPPoolSpec) { s.AllocationStrategy = metal3.RandomStrategy },
	"sticky":     func(s *metal3.IPPoolSpec) { s.Sticky = true },
}

// planned is what "kubectl lca ipam reserve" plans for masters of a pool.
func planned(t *testing.T, pool *metal3.IPPool, masters int) []manifest.Registration {
	t.Helper()
	v := &manifest.Inventory{Pools: []*metal3.IPPool{pool}}
	var reservations []manifest.Reservation
	for i := range masters {
		reservations = append(reservations, manifest.Reservation{Pool: pool.Name, Host: fmt.Sprintf("master-%d", i)})
	}
	plan, err := v.Reserve(reservations, ipam.Options{Now: time.Now, Rand: rand.NewPCG(1, 2)})
	require.NoError(t, err)
	return plan
}

// Masters have the addresses that were planned, with the operator at work and workers asking beside them, whatever the strategy.
func TestReservedAddressesAreThoseOfThePlan(t *testing.T) {
	for name, strategy := range strategies {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			p := w.pool("p", func(s *metal3.IPPoolSpec) { between(1, 40)(s); strategy(s) })
			w.start()
			plan := planned(t, p, 3)
			for _, r := range plan {
				require.NoError(t, w.api.Create(t.Context(), r.Address.DeepCopy()))
			}
			// That the operator knows of them is what the order of the list is for; it may take the operator a moment.
			last := plan[len(plan)-1].Address
			w.claim("probe", "p", requested(string(last.Spec.Address)))
			w.reason("probe", metal3.ReasonAddressTaken)
			for i := range 3 {
				w.claim(fmt.Sprintf("worker-%d", i), "p")
				require.NoError(t, w.api.Create(t.Context(), plan[i].Claim.DeepCopy()))
			}
			for i, r := range plan {
				require.Equal(t, string(r.Address.Spec.Address), w.address(r.Claim.Name))
				w.address(fmt.Sprintf("worker-%d", i))
			}
		})
	}
}

// A worker that took a planned address first keeps it, and the master's claim says so: it is not given another.
func TestWorkerThatCameBeforeAReservedClaim(t *testing.T) {
	for name, strategy := range strategies {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			p := w.pool("p", func(s *metal3.IPPoolSpec) { between(1, 9)(s); strategy(s) })
			plan := planned(t, p, 1)[0]
			w.start()
			w.claim("worker", "p", requested(string(plan.Address.Spec.Address)))
			require.Equal(t, string(plan.Address.Spec.Address), w.address("worker"))
			require.NoError(t, w.api.Create(t.Context(), plan.Claim.DeepCopy()))
			message := w.reason(plan.Claim.Name, metal3.ReasonAddressTaken)
			require.Contains(t, message, string(plan.Address.Spec.Address))
			require.Contains(t, message, "IPClaim "+w.namespace+"/worker")
			w.delete(&metal3.IPClaim{ObjectMeta: w.meta("worker")})
			if name != "sticky" { // a sticky pool without the worker's host keeps nothing for it either
				require.Equal(t, string(plan.Address.Spec.Address), w.address(plan.Claim.Name))
			}
		})
	}
}
