package ipconfig

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
)

const (
	// eventNamespace is where events of cluster-scoped objects live.
	eventNamespace = metav1.NamespaceDefault
	eventSource    = "lca.openshift.io/lifecycle-agent"
	// maxNote is what events.k8s.io/v1 allows for a note, in bytes.
	maxNote = 1024
)

// notice is one Kubernetes Event on the IPConfig.
type notice struct {
	kind, reason, action, note string
	// at is when it happened; what happened at one time for one reason is one event, however often it is told.
	at time.Time
}

// emit tells of the notice once: its name in the API follows from what it says, so that an operator that was ended
// and does not know what it told merely finds the event there. Nothing waits for an event, nor fails for one.
func (r *Reconciler) emit(ctx context.Context, on *lcav1.IPConfig, e notice) {
	note := oneLine(e.note)
	if len(note) > maxNote {
		note = string([]rune(note[:maxNote-4])) + "..."
	}
	event := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: eventNamespace, Name: eventName(on, e)},
		EventTime:  metav1.NewMicroTime(e.at), Type: e.kind, Reason: e.reason, Action: e.action, Note: note,
		ReportingController: eventSource, ReportingInstance: "lifecycle-agent",
		Regarding: corev1.ObjectReference{
			APIVersion: lcav1.GroupVersion.String(), Kind: "IPConfig", Name: on.Name, UID: on.UID, ResourceVersion: on.ResourceVersion,
		},
	}
	err := r.Client.Create(ctx, event)
	switch {
	case err == nil:
		r.Log.Info("event", "reason", e.reason, "note", note, "op", on.Status.OperationID)
	case !apierrors.IsAlreadyExists(err):
		r.Log.Warn("an event could not be told", "reason", e.reason, "note", note, "error", err)
	}
}

// eventName tells events apart by everything but their words.
func eventName(on *lcav1.IPConfig, e notice) string {
	h := fnv.New64a()
	fmt.Fprint(h, on.UID, e.kind, e.reason, e.action, e.at.UnixNano())
	return fmt.Sprintf("%s.%016x", on.Name, h.Sum64())
}
