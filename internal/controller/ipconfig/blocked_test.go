package ipconfig

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

func TestImageBasedUpgradeBlocks(t *testing.T) {
	w := newWorld(t)
	w.rest()
	ibu := newUpgrade(w)
	ibu.begin()
	ipc := w.change(toNewAddress)
	requireLast(t, ipc, "ConfigInProgress", no, "Blocked", "IBU is not idle; this request begins once it is; finalize or abort ImageBasedUpgrade upgrade")
	require.Equal(t, yes, condition(ipc, "Idle").Status)
	require.Equal(t, stages{"Idle"}, ipc.Status.ValidNextStages)
	require.Empty(t, w.node.acts)

	ibu.end()
	w.rest()
	require.Equal(t, 1, w.node.launched(ipconfig.UnitPrePivot))
}

// TestAnotherAgentIsNotFought: OpenShift's own agent serves the same object. This one says so and writes nothing, but ends the
// change that it has begun.
func TestAnotherAgentIsNotFought(t *testing.T) {
	other := &unstructured.Unstructured{Object: map[string]any{}}
	other.SetGroupVersionKind(schema.GroupVersionKind{Group: "operators.coreos.com", Version: "v1alpha1", Kind: "ClusterServiceVersion"})
	other.SetNamespace("default")
	other.SetName("lifecycle-agent.v4.20.0")
	w := newWorld(t)
	w.rest()
	w.define(definition(other.GroupVersionKind(), "clusterserviceversions", apiextensionsv1.NamespaceScoped))
	require.Eventually(t, func() bool { return w.api.Create(t.Context(), other) == nil }, time.Minute, wait)

	ipc := w.get()
	toNewAddress(ipc)
	require.NoError(t, w.api.Update(t.Context(), ipc))
	before := w.writes
	result, err := w.r.Reconcile(t.Context(), kind.Request())
	require.NoError(t, err)
	require.Equal(t, whileBlocked, result.RequeueAfter)
	require.Equal(t, before, w.writes)
	require.Contains(t, w.events[len(w.events)-1],
		"OtherAgent: ClusterServiceVersion default/lifecycle-agent.v4.20.0 is installed and serves the same IPConfig")

	require.NoError(t, w.api.Delete(t.Context(), other))
	w.rest()
	require.Equal(t, 1, w.node.launched(ipconfig.UnitPrePivot))
	other.SetResourceVersion("")
	require.NoError(t, w.api.Create(t.Context(), other))
	w.node.ends(ipconfig.UnitPrePivot, false)
	requireLast(t, w.rest(), "ConfigInProgress", no, "Failed", "ip-config pre-pivot failed")
	require.NoError(t, w.api.Delete(t.Context(), other))
}

// TestAnotherFlowBlocks: another operation has the node's lock when a change is requested, after it
// was accepted, and when the operator wants to clean up.
func TestAnotherFlowBlocks(t *testing.T) {
	other := &host.Holder{Operation: "seed image", Program: "lca-cli seed create", PID: 77, Since: time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)}
	const who = "another operation holds this node: seed image (lca-cli seed create, pid 77, since 2026-01-02T03:00:00Z)"
	w := newWorld(t)
	w.rest()
	w.node.holder = other
	ipc := w.change(toNewAddress)
	requireLast(t, ipc, "ConfigInProgress", no, "Blocked", who)
	require.Equal(t, stages{"Idle"}, ipc.Status.ValidNextStages)
	require.Contains(t, w.events, "Warning ConfigInProgressBlocked: "+who)
	require.Empty(t, w.node.acts)
	before := w.writes
	for range 3 {
		require.Equal(t, whileBlocked, w.reconcile())
	}
	require.Equal(t, before, w.writes, "being blocked is reported once")

	w.node.holder = nil
	w.operatorDegraded(true) // the change is accepted and waits
	requireLast(t, w.rest(), "ConfigInProgress", yes, "InProgress", "Waiting for system to stabilize")
	w.node.holder = other
	w.operatorDegraded(false)
	requireLast(t, w.rest(), "ConfigInProgress", yes, "InProgress", "waiting: "+who)
	require.Empty(t, w.node.acts)

	w.node.holder = nil
	w.rest()
	require.Equal(t, 1, w.node.launched(ipconfig.UnitPrePivot))
}

// TestAnUnfinishedOperationOfAnotherFlowBlocks, though no process of it runs.
func TestAnUnfinishedOperationOfAnotherFlowBlocks(t *testing.T) {
	w := newWorld(t)
	w.rest()
	w.node.holder = &host.Holder{Operation: "seed image-7", Phase: "quiesced, step 2 of 9", Since: time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)}
	requireLast(t, w.change(toNewAddress), "ConfigInProgress", no, "Blocked",
		"another operation holds this node: seed image-7 (unfinished: quiesced, step 2 of 9, since 2026-01-02T03:00:00Z)")
	require.Empty(t, w.node.acts)
	w.node.holder = nil
	w.rest()
	require.Equal(t, 1, w.node.launched(ipconfig.UnitPrePivot))
}

func TestALockHeldForTheOperatorDoesNotBlock(t *testing.T) {
	w, request := configuring(t)
	w.node.holder = &host.Holder{Operation: "ip-config " + request.OperationID, Program: "lca-cli ip-config pre-pivot", PID: 5}
	requireLast(t, w.rest(), "ConfigInProgress", yes, "InProgress", "Configuration in progress")
	w.journal(ipconfig.FlowPrePivot, flow.Entry{Kind: flow.KindBegin, Total: 3}, flow.Entry{Kind: flow.KindRolledBack, Error: "no room"})
	w.node.ends(ipconfig.UnitPrePivot, false)
	w.node.holder = nil
	ipc := w.stage(lcav1.StageIdle)
	require.Equal(t, 1, w.node.launched(ipconfig.UnitCleanup), "%v", ipc.Status.Conditions)
	w.node.holder = &host.Holder{Operation: "ip-config", Program: "lca-cli ip-config cleanup", PID: 6}
	requireLast(t, w.rest(), "Idle", no, "InProgress", "In progress of becoming idle")
}

func TestAnAbortIsNotBlocked(t *testing.T) {
	w := newWorld(t)
	w.rest()
	w.node.holder = &host.Holder{Operation: "seed image", Program: "lca-cli seed create", PID: 77}
	w.change(toNewAddress)
	requireLast(t, w.stage(lcav1.StageIdle), "Idle", yes, "Idle", "Idle")
}
