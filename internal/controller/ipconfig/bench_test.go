package ipconfig

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// BenchmarkReconcileNodeChanged measures one reconciliation that finds something new on the node
// and writes it into status.
func BenchmarkReconcileNodeChanged(b *testing.B) {
	w := newWorld(b)
	w.rest()
	before, n := w.writes, 0
	for b.Loop() {
		n++
		w.node.doc.DNS.Running.Server = []string{fmt.Sprintf("192.0.2.%d", 50+n%2)}
		w.reconcile()
	}
	require.Equal(b, before+n, w.writes, "one write each")
}

// BenchmarkReconcileRequest measures all reconciliations from a user's request until lca-cli is
// started: acceptance, validation, health, handing over.
func BenchmarkReconcileRequest(b *testing.B) {
	w := newWorld(b)
	w.rest()
	for b.Loop() {
		b.StopTimer()
		ipc := w.get()
		toNewAddress(ipc)
		require.NoError(b, w.api.Update(b.Context(), ipc))
		before := w.node.launched(ipconfig.UnitPrePivot)
		b.StartTimer()
		w.until(b, func() bool { return w.node.launched(ipconfig.UnitPrePivot) > before })
		b.StopTimer()
		w.withdraw(b)
		b.StartTimer()
	}
}

// until reconciles until something holds.
func (w *world) until(b *testing.B, holds func() bool) {
	b.Helper()
	for range 20 {
		w.reconcile()
		if holds() {
			return
		}
	}
	b.Fatalf("in vain: %v", w.get().Status.Conditions)
}

// withdraw takes the request back, and plays lca-cli's part of it.
func (w *world) withdraw(b *testing.B) {
	b.Helper()
	ipc := w.get()
	ipc.Spec.Stage = lcav1.StageIdle
	require.NoError(b, w.api.Update(b.Context(), ipc))
	w.until(b, func() bool { return w.node.units[ipconfig.UnitPrePivot].Active == "inactive" })
	require.NoError(b, w.node.Remove(host.Workspace))
	delete(w.node.units, ipconfig.UnitPrePivot)
	w.until(b, func() bool { return meta.IsStatusConditionTrue(w.get().Status.Conditions, lcav1.ConditionIdle) })
}
