package ipconfig

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// elsewhere is an operation that another cluster accepted.
var elsewhere = operation.NewID(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), 7)

// restore writes object and status as a tool does that restores a backup of another cluster, taken while it prepared a change.
func (w *world) restore(spec func(*lcav1.IPConfig)) {
	w.t.Helper()
	ipc := w.get()
	spec(ipc)
	require.NoError(w.t, w.api.Update(w.t.Context(), ipc))
	base := ipc.DeepCopy()
	l := status.NewConditions(nil, ipc.Generation, w.now)
	l.Set(lcav1.ConditionIdle, no, lcav1.ReasonConfigurationInProgress, msgConfig)
	l.Set(lcav1.ConditionConfigInProgress, yes, lcav1.ReasonInProgress, msgConfig)
	ipc.Status.Conditions, ipc.Status.OperationID = l.Items, elsewhere
	require.NoError(w.t, w.api.Status().Patch(w.t.Context(), ipc, client.MergeFrom(base)))
}

// TestARestoredStatusIsNoRequest: what another cluster accepted begins nothing here. The node becomes Idle, and only then is the
// stage of the restored spec a request like any other.
func TestARestoredStatusIsNoRequest(t *testing.T) {
	w := newWorld(t)
	w.rest()
	w.restore(toNewAddress)
	w.reconcile()
	require.Zero(t, w.node.launched(ipconfig.UnitPrePivot), "nothing begins before Idle was observed")
	requireLast(t, w.get(), "Idle", no, "InProgress", "operation "+elsewhere+" of status is none that this node has accepted since it booted")
	w.rest()
	require.Equal(t, 1, w.node.launched(ipconfig.UnitPrePivot))
	request, err := ipconfig.ReadRequest(w.node)
	require.NoError(t, err)
	require.NotEqual(t, elsewhere, request.OperationID)
}

// TestARestoredSpecThatTheNodeHasChangesNothing: it completes, without an operation.
func TestARestoredSpecThatTheNodeHasChangesNothing(t *testing.T) {
	w := newWorld(t)
	w.rest()
	w.restore(func(ipc *lcav1.IPConfig) {
		ipc.Spec.Stage = lcav1.StageConfig
		ipc.Spec.IPv4 = &lcav1.IPv4Config{Address: "192.0.2.10"}
	})
	requireLast(t, w.rest(), "ConfigCompleted", yes, "Completed", msgNothingToDo)
	require.Zero(t, w.node.launched(ipconfig.UnitPrePivot))
}
