package ipconfig

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// phase is a moment of a change at which the object may get lost.
type phase struct {
	name  string
	reach func(*testing.T) *world
	// unexported is the stage that request and journal alone imply, where it is not the one last accepted.
	unexported lcav1.IPConfigStage
}

func phases() []phase {
	preparing := func(t *testing.T) *world {
		w, _ := configuring(t)
		w.journal(ipconfig.FlowPrePivot, flow.Entry{Kind: flow.KindBegin, Total: 3}, step(flow.KindIntent, ipconfig.StepClone, 1))
		w.rest()
		return w
	}
	arrived := func(t *testing.T) (*world, ipconfig.Request, *lcav1.IPConfig) {
		w, request := configuring(t)
		left := w.get()
		w.pivot(request)
		return w, request, left
	}
	finishing := func(t *testing.T) *world {
		w, _, _ := arrived(t)
		w.newNetwork()
		working(w, ipconfig.StepCheckSeal, ipconfig.StepApplyNetwork, ipconfig.StepRecert)
		w.rest()
		return w
	}
	configured := func(t *testing.T) *world {
		w, _, _ := arrived(t)
		through(w)
		requireLast(t, w.rest(), "ConfigCompleted", yes, "Completed", "")
		return w
	}
	cameBack := func(t *testing.T, cause string) *world {
		w, request, left := arrived(t)
		w.journalAt(operation.PivotedJournalPath(request.OperationID), ipconfig.FlowRollback,
			flow.Entry{Kind: flow.KindNote, Message: cause}, flow.Entry{Kind: flow.KindBegin, Total: 5})
		w.comeBack(request, left)
		w.rest()
		return w
	}
	return []phase{
		{name: "preparing", reach: preparing},
		{name: "reboot under way", reach: func(t *testing.T) *world {
			w := preparing(t)
			w.journal(ipconfig.FlowPrePivot, flow.Entry{Kind: flow.KindCommitted}, step(flow.KindIntent, ipconfig.StepReboot, 2))
			w.rest()
			return w
		}},
		{name: "not prepared", reach: func(t *testing.T) *world {
			w := preparing(t)
			w.journal(ipconfig.FlowPrePivot, flow.Entry{Kind: flow.KindRolledBack})
			w.node.ends(ipconfig.UnitPrePivot, false)
			w.rest()
			return w
		}},
		{name: "aborted before the flip", reach: func(t *testing.T) *world {
			w := preparing(t)
			w.journal(ipconfig.FlowPrePivot, flow.Entry{Kind: flow.KindRolledBack})
			w.stage(lcav1.StageIdle)
			require.Equal(t, 1, w.node.launched(ipconfig.UnitCleanup))
			w.journal(ipconfig.FlowCleanup, flow.Entry{Kind: flow.KindBegin, Total: 3}, step(flow.KindIntent, ipconfig.StepSettle, 1))
			w.rest()
			return w
		}},
		{name: "aborted too late", unexported: lcav1.StageConfig, reach: func(t *testing.T) *world {
			w, request := configuring(t)
			w.change(func(ipc *lcav1.IPConfig) { ipc.Spec.Stage = lcav1.StageIdle })
			w.pivot(request)
			w.postPivotDone()
			w.rest()
			require.Equal(t, 1, w.node.launched(ipconfig.UnitRollback))
			return w
		}},
		{name: "finishing", reach: finishing},
		{name: "waiting for health", reach: func(t *testing.T) *world {
			w, _, _ := arrived(t)
			through(w)
			w.operatorDegraded(true)
			w.rest()
			return w
		}},
		{name: "completed", reach: configured},
		{name: "completed, then unhealthy", reach: func(t *testing.T) *world {
			w := configured(t)
			w.operatorDegraded(true)
			return w
		}},
		{name: "completed, no old stateroot", reach: func(t *testing.T) *world {
			w := configured(t)
			w.node.deployments = w.node.deployments[1:]
			w.rest()
			return w
		}},
		{name: "becoming idle after completion, waiting for health", unexported: lcav1.StageConfig, reach: func(t *testing.T) *world {
			w := configured(t)
			w.operatorDegraded(true)
			w.stage(lcav1.StageIdle)
			return w
		}},
		{name: "cleaning up after completion", reach: func(t *testing.T) *world {
			w := configured(t)
			w.stage(lcav1.StageIdle)
			require.Equal(t, 1, w.node.launched(ipconfig.UnitCleanup))
			w.journal(ipconfig.FlowCleanup, flow.Entry{Kind: flow.KindBegin, Total: 3}, step(flow.KindIntent, ipconfig.StepSettle, 1))
			w.rest()
			return w
		}},
		{name: "rolling back on request", reach: func(t *testing.T) *world {
			w := configured(t)
			w.stage(lcav1.StageRollback)
			w.journal(ipconfig.FlowRollback, flow.Entry{Kind: flow.KindNote, Message: ipconfig.CauseRequested}, flow.Entry{Kind: flow.KindBegin, Total: 5})
			w.rest()
			return w
		}},
		{name: "rolled back on request", reach: func(t *testing.T) *world {
			w := cameBack(t, ipconfig.CauseRequested)
			requireLast(t, w.get(), "RollbackCompleted", yes, "Completed", "")
			return w
		}},
		{name: "rolled back by itself", reach: func(t *testing.T) *world {
			w := cameBack(t, ipconfig.CauseAutomatic+"no DNS")
			requireLast(t, w.get(), "ConfigInProgress", no, "Failed", "no DNS")
			return w
		}},
	}
}

// loss is a way in which the object, or what it says, gets lost.
type loss struct {
	name string
	lose func(*world)
}

func losses() []loss {
	remove := func(w *world) { require.NoError(w.t, w.api.Delete(w.t.Context(), w.get())) }
	return []loss{
		{"object deleted", remove},
		{"status wiped", func(w *world) {
			ipc := w.get()
			ipc.Status = lcav1.IPConfigStatus{}
			require.NoError(w.t, w.api.Status().Update(w.t.Context(), ipc))
		}},
		{"object deleted while no operator runs", func(w *world) {
			remove(w)
			w.restart(shared.Server(w.t))
		}},
		{"object recreated by hand", func(w *world) {
			remove(w)
			ipc := &lcav1.IPConfig{}
			ipc.Name, ipc.Spec.Stage = lcav1.IPConfigName, lcav1.StageIdle
			require.NoError(w.t, w.api.Create(w.t.Context(), ipc))
		}},
	}
}

// recovered reconciles as often as the longest restore takes, and a few times more.
func (w *world) recovered() *lcav1.IPConfig {
	w.t.Helper()
	for range 8 {
		w.reconcile()
	}
	return w.get()
}

func (w *world) launches() string {
	return fmt.Sprint("pre-pivot ", w.node.launched(ipconfig.UnitPrePivot), ", rollback ", w.node.launched(ipconfig.UnitRollback),
		", cleanup ", w.node.launched(ipconfig.UnitCleanup))
}

func wordsOf(ipc *lcav1.IPConfig) (list []string) {
	for _, c := range ipc.Status.Conditions {
		list = append(list, c.Type+"="+string(c.Status)+" "+c.Reason)
	}
	return list
}

// TestALostObjectComesBackAsTheNodeRecordsIt loses the object, or its status, in every phase of a change. The node goes on
// as before: it neither reboots nor gives up its way back, and nothing is begun anew.
func TestALostObjectComesBackAsTheNodeRecordsIt(t *testing.T) {
	for _, p := range phases() {
		t.Run(p.name, func(t *testing.T) {
			w := p.reach(t)
			before, launches := w.get(), w.launches()
			for _, l := range losses() {
				l.lose(w)
				after := w.recovered()
				require.Equal(t, launches, w.launches(), l.name)
				if before.Spec.Stage == lcav1.StageIdle && l.name == "object recreated by hand" {
					before.Spec = after.Spec // nothing rests on it any more, so what was created stays
				}
				require.Equal(t, before.Spec, after.Spec, l.name)
				require.ElementsMatch(t, wordsOf(before), wordsOf(after), l.name)
				require.Equal(t, before.Status.ValidNextStages, after.Status.ValidNextStages, l.name)
				require.Equal(t, before.Status.OperationID, after.Status.OperationID, l.name)
			}
			w.losesTheExportToo(t, p)
		})
	}
}

// losesTheExportToo deletes ipc.json with the object. What request and journal do not record is proved anew; nothing is undone.
func (w *world) losesTheExportToo(t *testing.T, p phase) {
	t.Helper()
	w.operatorDegraded(false)
	if p.unexported == "" {
		w.recovered()
	}
	before, launches := w.get(), w.launches()
	asked, err := ipconfig.ReadRequest(w.node)
	require.NoError(t, err)
	delete(w.node.files, ipconfig.SavedObjectFile)
	losses()[0].lose(w)
	after := w.recovered()
	require.Equal(t, launches, w.launches())
	require.Equal(t, asked.Spec().IPv4, after.Spec.IPv4)
	if p.unexported != "" {
		require.Equal(t, p.unexported, after.Spec.Stage)
		return
	}
	require.Equal(t, before.Spec.Stage, after.Spec.Stage)
	require.Contains(t, wordsOf(before), wordsOf(after)[len(wordsOf(after))-1])
	require.Equal(t, before.Status.ValidNextStages, after.Status.ValidNextStages)
}

// TestARestoreThatIsCutShortIsDoneAgain cuts it after each of its writes, with a new operator each time.
func TestARestoreThatIsCutShortIsDoneAgain(t *testing.T) {
	w, request := configuring(t)
	w.pivot(request)
	through(w)
	before := w.rest()
	for _, l := range losses()[:2] {
		for budget := range 4 {
			l.lose(w)
			w.budget = &budget
			for range 4 {
				_, _ = w.r.Reconcile(t.Context(), kind.Request()) // fails once the API is gone
			}
			w.budget = nil
			w.restart(shared.Server(t))
			after := w.recovered()
			require.Equal(t, before.Spec, after.Spec, "%s, %d writes", l.name, budget)
			require.ElementsMatch(t, wordsOf(before), wordsOf(after), "%s, %d writes", l.name, budget)
		}
	}
	require.Contains(t, w.events[len(w.events)-1], "Warning Restored: The object or its status was lost while operation "+request.OperationID)
	require.Zero(t, w.node.launched(ipconfig.UnitRollback))
	require.Zero(t, w.node.launched(ipconfig.UnitCleanup))
}

// TestTheFirstLookInTheNewStaterootFindsNoObject: it was lost between the reboot and the start of the operator.
func TestTheFirstLookInTheNewStaterootFindsNoObject(t *testing.T) {
	for _, l := range losses()[:2] {
		t.Run(l.name, func(t *testing.T) {
			w, request := configuring(t)
			asked := w.get().Spec.IPv4
			w.pivot(request)
			w.restart(shared.Server(t))
			l.lose(w)
			ipc := w.rest()
			require.Equal(t, lcav1.StageConfig, ipc.Spec.Stage)
			require.Equal(t, asked, ipc.Spec.IPv4)
			require.Equal(t, stages{"Rollback"}, ipc.Status.ValidNextStages)
			require.Zero(t, w.node.launched(ipconfig.UnitRollback), "losing the object is no request to go back")
			through(w)
			requireLast(t, w.rest(), "ConfigCompleted", yes, "Completed", "Configuration completed successfully")
			require.Zero(t, w.node.launched(ipconfig.UnitCleanup))
		})
	}
}

// TestALostDefinitionComesBackWithTheObject removes the CRD, and with it the object, after completion.
func TestALostDefinitionComesBackWithTheObject(t *testing.T) {
	w, request := configuring(t)
	w.pivot(request)
	through(w)
	before := w.rest()
	options := envtest.CRDInstallOptions{Paths: []string{"../../../config/crd/bases/lca.openshift.io_ipconfigs.yaml"}}
	config := shared.Server(t).Config
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Name = "ipconfigs.lca.openshift.io"
	require.NoError(t, w.api.Delete(t.Context(), crd))
	restored := false
	install := func() {
		require.Eventually(t, func() bool {
			_, err := envtest.InstallCRDs(config, options)
			return err == nil
		}, time.Minute, wait)
		require.Eventually(t, func() bool {
			return w.api.List(context.Background(), &lcav1.IPConfigList{}) == nil
		}, time.Minute, wait)
		restored = true
	}
	t.Cleanup(func() {
		if !restored {
			install()
		}
	})
	require.Eventually(t, func() bool {
		return w.api.Get(t.Context(), client.ObjectKeyFromObject(crd), crd) != nil
	}, time.Minute, wait)
	_, err := w.r.Reconcile(t.Context(), kind.Request())
	require.ErrorContains(t, err, "ipconfig")
	install()
	after := w.rest()
	require.Equal(t, before.Spec, after.Spec)
	require.ElementsMatch(t, wordsOf(before), wordsOf(after))
	require.Equal(t, before.Status.ValidNextStages, after.Status.ValidNextStages)
	require.Zero(t, w.node.launched(ipconfig.UnitRollback))
	require.Zero(t, w.node.launched(ipconfig.UnitCleanup))
}

// TestDeletingTheObjectLeavesTheNodeAsItIs: as an uninstall does, with the agent still there for a while.
func TestDeletingTheObjectLeavesTheNodeAsItIs(t *testing.T) {
	w := newWorld(t)
	w.rest()
	files, acts := maps.Clone(w.node.files), len(w.node.acts)
	require.NoError(t, w.api.Delete(t.Context(), w.get()))
	w.rest()
	require.Len(t, w.node.acts, acts)
	require.Equal(t, files, w.node.files)
}
