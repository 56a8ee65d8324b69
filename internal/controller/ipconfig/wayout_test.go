package ipconfig

import (
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// TestARollbackToAClusterThatStaysUnhealthyCanBeLeft in both ways that its message names.
func TestARollbackToAClusterThatStaysUnhealthyCanBeLeft(t *testing.T) {
	returned := func(t *testing.T) *world {
		w, request := configuring(t)
		left := w.get()
		w.pivot(request)
		w.postPivotDone()
		w.rest()
		w.stage(lcav1.StageRollback)
		w.journalAt(operation.PivotedJournalPath(request.OperationID), ipconfig.FlowRollback,
			flow.Entry{Kind: flow.KindNote, Message: ipconfig.CauseRequested}, flow.Entry{Kind: flow.KindBegin, Total: 5})
		w.comeBack(request, left)
		w.operatorDegraded(true)
		ipc := w.rest()
		requireLast(t, ipc, "RollbackInProgress", yes, "InProgress", "clusteroperator etcd: degraded")
		message := condition(ipc, "RollbackInProgress").Message
		require.Contains(t, message, "annotate ipconfig with "+lcav1.SkipPreConfigurationHealthChecksAnnotation)
		require.Contains(t, message, "set spec.stage to Idle")
		require.Equal(t, stages{"Idle"}, ipc.Status.ValidNextStages)
		return w
	}
	skip := func(w *world) {
		base := w.get()
		ipc := base.DeepCopy()
		ipc.Annotations = map[string]string{lcav1.SkipPreConfigurationHealthChecksAnnotation: ""}
		require.NoError(w.t, w.api.Patch(w.t.Context(), ipc, client.MergeFrom(base)))
	}
	t.Run("the annotation", func(t *testing.T) {
		w := returned(t)
		skip(w)
		requireLast(t, w.rest(), "RollbackCompleted", yes, "Completed", "Rollback completed")
	})
	t.Run("Idle", func(t *testing.T) {
		w := returned(t)
		ipc := w.stage(lcav1.StageIdle)
		requireLast(t, ipc, "Idle", no, "InProgress", "annotate ipconfig with "+lcav1.SkipPreConfigurationHealthChecksAnnotation)
		require.Zero(t, w.node.launched(ipconfig.UnitCleanup), "both systems stay until one is known to be healthy")
		skip(w)
		w.rest()
		w.cleanedUp()
		requireLast(t, w.rest(), "Idle", yes, "Idle", "Idle")
	})
}

// TestMessagesNameTheWayOut of states that need more than time.
func TestMessagesNameTheWayOut(t *testing.T) {
	t.Run("an unhealthy cluster before the change", func(t *testing.T) {
		w := newWorld(t)
		w.rest()
		w.operatorDegraded(true)
		require.Contains(t, condition(w.change(toNewAddress), "ConfigInProgress").Message,
			"annotate ipconfig with "+lcav1.SkipPreConfigurationHealthChecksAnnotation)
	})
	t.Run("an unhealthy cluster after the change", func(t *testing.T) {
		w, request := configuring(t)
		w.pivot(request)
		w.postPivotDone()
		w.operatorDegraded(true)
		require.Contains(t, condition(w.rest(), "ConfigInProgress").Message,
			"annotate ipconfig with "+lcav1.SkipPostConfigurationHealthChecksAnnotation)
	})
	t.Run("a post-pivot that was given up", func(t *testing.T) {
		w, request := configuring(t)
		w.pivot(request)
		w.journal(ipconfig.FlowPostPivot, flow.Entry{Kind: flow.KindBegin, Total: 2},
			flow.Entry{Kind: flow.KindFailed, Step: ipconfig.StepRecert, Error: "no etcd"})
		w.node.ends(ipconfig.UnitIPConfiguration, false)
		ipc := w.rest()
		require.Contains(t, condition(ipc, "ConfigCompleted").Message,
			"set spec.stage to Rollback, or repair the cause and run 'systemctl restart ip-configuration.service' on the node")
		w.node.deployments = w.node.deployments[1:]
		require.Contains(t, condition(w.rest(), "ConfigCompleted").Message,
			"repair the cause and run 'systemctl restart ip-configuration.service' on the node, or set spec.stage to Idle")
	})
	t.Run("a rollback that lost its old stateroot", func(t *testing.T) {
		w, request := configuring(t)
		w.pivot(request)
		w.rest()
		w.stage(lcav1.StageRollback)
		w.node.deployments = w.node.deployments[1:]
		require.Contains(t, condition(w.rest(), "RollbackInProgress").Message, "set spec.stage to Idle")
	})
}
