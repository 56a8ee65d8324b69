package status

import (
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

const (
	eventSource = "lca.openshift.io/lifecycle-agent"
	// maxNote is what events.k8s.io/v1 allows for a note, in bytes.
	maxNote = 1024
)

// ClipNote makes a text one that an event may have as its note: one line of at most 1,024 bytes.
func ClipNote(note string) string { return clip(note, maxNote) }

// Event is one thing that happened to an object.
type Event struct {
	// Type is Normal or Warning.
	Type, Reason, Action, Note string
	// At is when it happened. What happened at one time for one reason is one event, however often it is published.
	At time.Time
}

// Recorder publishes events. The name of an event follows from what it says, so that a restarted operator, which does not
// know what was published, finds the event there. The manager's own recorder names events by the time of publishing and
// can neither set the time at which something happened nor publish it exactly once.
type Recorder struct {
	Client client.Client
	Log    *slog.Logger
}

// Publish publishes the event once. Nothing waits for an event, nor fails for one.
func (r Recorder) Publish(ctx context.Context, on client.Object, e Event) {
	note := ClipNote(e.Note)
	err := r.create(ctx, on, e, note)
	switch {
	case err == nil:
		r.Log.Info("event", "object", on.GetName(), "reason", e.Reason, "note", note)
	case !apierrors.IsAlreadyExists(err):
		r.Log.Warn("an event could not be published", "object", on.GetName(), "reason", e.Reason, "note", note, "error", err)
	}
}

func (r Recorder) create(ctx context.Context, on client.Object, e Event, note string) error {
	gvk, err := apiutil.GVKForObject(on, r.Client.Scheme())
	if err != nil {
		return fmt.Errorf("kind of %s: %w", on.GetName(), err)
	}
	namespace := on.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault // where events of cluster-scoped objects live
	}
	err = r.Client.Create(ctx, &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: eventName(on, e)},
		EventTime:  metav1.NewMicroTime(e.At), Type: e.Type, Reason: e.Reason, Action: e.Action, Note: note,
		ReportingController: eventSource, ReportingInstance: "lifecycle-agent",
		Regarding: corev1.ObjectReference{
			APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Namespace: on.GetNamespace(), Name: on.GetName(),
			UID: on.GetUID(), ResourceVersion: on.GetResourceVersion(),
		},
	})
	if err != nil {
		return fmt.Errorf("create event %s of %s: %w", e.Reason, on.GetName(), err)
	}
	return nil
}

// eventName tells events apart by everything but their note.
func eventName(on client.Object, e Event) string {
	h := fnv.New64a()
	fmt.Fprint(h, on.GetUID(), e.Type, e.Reason, e.Action, e.At.UnixNano())
	return fmt.Sprintf("%s.%016x", on.GetName(), h.Sum64())
}
