// Package singleton is what the controllers of kinds have in common of which a cluster has one object. The API refuses any other name
// than that of the one; what the controller does depends on the node and not on the request, so that it also runs without an object.
//
// A kind is used by declaring a Kind, building its controller with NewController, reading its object with Get, and reporting with
// ReportUnobserved, SetObserved, ObservationFailed and OtherAgent. Whether a missing object is created is the controller's own matter:
// an empty IPConfig asks for nothing, while a SeedGenerator is a request.
package singleton

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
)

// object is a pointer to T.
type object[T any] interface {
	*T
	client.Object
}

// Kind is a kind of which a cluster has one object.
type Kind[T any, P object[T]] struct {
	// Kind is its name in the API, Name that of the one object.
	Kind, Name string
	// Conditions are those of an object's status.
	Conditions func(P) *[]metav1.Condition
	// ObservedGeneration is that of an object's status; nil where it says which generation was accepted, and not which was seen.
	ObservedGeneration func(P) *int64
}

// Request is the one that all events lead to.
func (k Kind[T, P]) Request() reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: k.Name}}
}

// NewController begins the controller of the kind: it runs when the object changes, and once at the start, when an operation may be on
// the node and there may be no object. It reconciles one at a time. Reconciliations that fail are spaced out, as all do while the API
// restarts; the longest pause is short, because people wait for the result.
func (k Kind[T, P]) NewController(mgr ctrl.Manager, name string) *builder.Builder {
	atStart := func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		queue.Add(k.Request())
		return nil
	}
	return ctrl.NewControllerManagedBy(mgr).Named(name).
		For(P(new(T)), builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		WatchesRawSource(source.Func(atStart)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1,
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](200*time.Millisecond, 20*time.Second)})
}

// Get returns the one object, or nil where it does not exist.
func (k Kind[T, P]) Get(ctx context.Context, from client.Reader) (P, error) {
	o := P(new(T))
	err := from.Get(ctx, client.ObjectKey{Name: k.Name}, o)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %s %s: %w", strings.ToLower(k.Kind), k.Name, err)
	}
	return o, nil
}

// Publish publishes an event on the object, which may be missing.
func (k Kind[T, P]) Publish(ctx context.Context, recorder status.Recorder, on P, e status.Event) {
	if on == nil {
		on = P(new(T))
		on.SetName(k.Name)
	}
	recorder.Publish(ctx, on, e)
}

// RepeatedFor is the time in which an event that has no time of its own is published once.
const RepeatedFor = 10 * time.Minute

// ObservationFailed is the event of a node that cannot be observed, which there may be no object to report on.
func ObservationFailed(err error, now time.Time) status.Event {
	return status.Event{Type: corev1.EventTypeWarning, Reason: "ObservationFailed", Action: "Observe",
		Note: "The node cannot be observed, retrying: " + err.Error(), At: now.Truncate(RepeatedFor)}
}

// OtherAgent is the event of another agent that serves the same object.
func (k Kind[T, P]) OtherAgent(name string, now time.Time) status.Event {
	return status.Event{Type: corev1.EventTypeWarning, Reason: "OtherAgent", Action: "Observe",
		Note: fmt.Sprintf("ClusterServiceVersion %s is installed and serves the same %s: this agent leaves it alone. "+
			"Remove its Subscription and ClusterServiceVersion, or this agent", name, k.Kind), At: now.Truncate(RepeatedFor)}
}

// Messages of NodeObserved.
const (
	msgObserved    = "The node is observed"
	msgNotObserved = "The node cannot be observed, retrying; status shows what was observed last: "
)

// ReportUnobserved writes that the node cannot be observed, and nothing else: the other conditions keep the generation that they are of.
func (k Kind[T, P]) ReportUnobserved(ctx context.Context, c client.Client, o P, why error, now time.Time) error {
	if o == nil {
		return nil
	}
	before := o.DeepCopyObject().(P)
	l := status.KeepConditions(*k.Conditions(o), o.GetGeneration(), now)
	SetObserved(l, status.OneLine(why.Error()))
	l.Summarize(status.Reconciling, lcav1.ReasonNotObserved, msgNotObserved+status.OneLine(why.Error()))
	*k.Conditions(o) = l.Items
	if k.ObservedGeneration != nil {
		*k.ObservedGeneration(o) = o.GetGeneration()
	}
	if equality.Semantic.DeepEqual(before, o) {
		return nil
	}
	if err := status.Patch(ctx, c, before, o); err != nil {
		return fmt.Errorf("report that the node cannot be observed: %w", err)
	}
	return nil
}

// SetObserved sets NodeObserved, False for a reason why it is not, at the beginning of the list: its end shows the operation.
func SetObserved(l *status.Conditions, why string) {
	c := metav1.Condition{Type: lcav1.ConditionNodeObserved, Status: metav1.ConditionTrue, Reason: lcav1.ReasonObserved,
		Message: msgObserved}
	if why != "" {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, lcav1.ReasonNotObserved, status.Clip(msgNotObserved+why)
	}
	l.SetFirst(c)
}
