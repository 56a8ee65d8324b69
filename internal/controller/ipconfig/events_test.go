package ipconfig

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/singleton"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// publishedEvents lists the events of the object as the API has them.
func (w *world) publishedEvents() (all []eventsv1.Event) {
	w.t.Helper()
	var list eventsv1.EventList
	require.NoError(w.t, w.api.List(w.t.Context(), &list, client.InNamespace(metav1.NamespaceDefault)))
	ipc := w.get()
	for _, e := range list.Items {
		if e.Regarding.UID == ipc.UID {
			all = append(all, e)
		}
	}
	return all
}

func reasons(all []eventsv1.Event) (list []string) {
	for _, e := range all {
		list = append(list, e.Reason+" "+e.Action)
	}
	slices.Sort(list)
	return list
}

// TestEventsOfAChangeThatGoesBack restarts the operator after every single reconciliation: each thing that happened is
// one event, with its own time.
func TestEventsOfAChangeThatGoesBack(t *testing.T) {
	w, request := configuring(t)
	again := func() {
		for range 3 {
			w.restart(shared.Server(t))
			w.reconcile()
		}
	}
	again()
	w.pivot(request)
	again()
	left := w.get()
	w.journal(ipconfig.FlowPostPivot, flow.Entry{Kind: flow.KindBegin, Total: 2}, step(flow.KindIntent, ipconfig.StepApplyNetwork, 1),
		flow.Entry{Kind: flow.KindFailed, Step: ipconfig.StepApplyNetwork, Error: "gateway is silent", TookMS: 1500})
	failedAt := w.now
	w.journal(ipconfig.FlowRollback, flow.Entry{Kind: flow.KindNote, Message: ipconfig.CauseAutomatic + "gateway is silent"},
		flow.Entry{Kind: flow.KindBegin, Total: 5})
	w.comeBack(request, left)
	again()
	requireLast(t, w.get(), "ConfigInProgress", no, "Failed", "gateway is silent")

	all := w.publishedEvents()
	require.Equal(t, []string{
		"ConfigCompletedFailed ChangeStage", "ConfigInProgressFailed ChangeStage", "ConfigInProgressInProgress ChangeStage",
		"IdleConfigurationInProgress ChangeStage", "IdleIdle ChangeStage", "IdleInProgress ChangeStage", "Rollback Rollback",
		"StepCompleted pre-pivot/flip-default", "StepFailed post-pivot/apply-network",
	}, reasons(all))
	for _, e := range all {
		require.Zero(t, e.Series, "one event is one event")
		if e.Reason == "StepFailed" {
			require.Equal(t, "post-pivot: apply-network failed after 1.5s: gateway is silent", e.Note)
			require.WithinDuration(t, failedAt, e.EventTime.Time, time.Millisecond, "the time at which it happened")
			require.Equal(t, "Warning", e.Type)
		}
	}
}

// TestAnEventThatWasLostIsPublishedAfterARestart: the operator was killed between writing status and publishing.
func TestAnEventThatWasLostIsPublishedAfterARestart(t *testing.T) {
	w := newWorld(t)
	w.rest()
	w.loseEvents = true
	w.change(toNewAddress)
	require.NotContains(t, reasons(w.publishedEvents()), "ConfigInProgressInProgress ChangeStage")
	w.loseEvents = false
	w.restart(shared.Server(t))
	w.now = w.now.Add(-2 * time.Minute) // rest lets minutes pass
	w.reconcile()
	require.Contains(t, reasons(w.publishedEvents()), "ConfigInProgressInProgress ChangeStage")
	published := len(w.publishedEvents())
	w.restart(shared.Server(t))
	w.rest()
	require.Len(t, w.publishedEvents(), published)
}

func TestAPersistentFailureIsOneEventInTenMinutes(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	failed := func(at time.Time) status.Event { return singleton.ObservationFailed(errors.New("no bus"), at) }
	require.Equal(t, failed(now), failed(now.Add(3*time.Minute)))
	require.NotEqual(t, failed(now), failed(now.Add(10*time.Minute)))
}
