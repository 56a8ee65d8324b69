package ipconfig

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
)

// Reconciler reconciles the one IPConfig. It reconciles one at a time.
type Reconciler struct {
	// Client writes; Reader reads past any cache, so that a decision never rests on
	// a status older than the one written last.
	Client client.Client
	Reader client.Reader
	Log    *slog.Logger

	Node    Node
	Metrics *Metrics

	// Now is the clock, Random the source of operation ids.
	Now    func() time.Time
	Random func() uint16

	// RecertImage is used where the recert-image annotation is present but empty.
	RecertImage string
	// CLI returns the lca-cli program to install on the node; nil leaves the node's own.
	CLI func() ([]byte, error)

	preparing, returning, cleaning, fetching retry
	// examined is when the cluster's health was looked at last.
	examined time.Time
	// news and returned tell what was announced of the operation that is running.
	news      news
	returned  string
	announced bool
}

// Reconcile observes, does the next thing, and reports.
func (r *Reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	ipc, err := r.singleton(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	if ipc == nil {
		return reconcile.Result{RequeueAfter: atOnce}, nil
	}
	o, err := r.observe(ctx, ipc)
	if err != nil {
		r.emit(ctx, ipc, observationFailed(err, r.Now()))
		return reconcile.Result{}, err
	}
	if err := r.consumeAnnotations(ctx, ipc); err != nil {
		return reconcile.Result{}, err
	}
	out, err := r.decide(ctx, ipc, o)
	if err != nil {
		return reconcile.Result{}, err
	}
	if out.again == atRest {
		r.takePulse(ctx)
	}
	if err := r.report(ctx, ipc, o, out); err != nil {
		if apierrors.IsConflict(err) { // somebody wrote in between; look again
			return reconcile.Result{RequeueAfter: atOnce}, nil
		}
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: out.again}, nil
}

// consumeAnnotations removes the annotations that are requests and have been heard: this
// reconciliation is what trigger-reconcile asked for, and after a manual cleanup the agent tries again at once.
func (r *Reconciler) consumeAnnotations(ctx context.Context, ipc *lcav1.IPConfig) error {
	_, cleaned := ipc.Annotations[lcav1.ManualCleanupAnnotation]
	if !cleaned && ipc.Annotations[lcav1.TriggerReconcileAnnotation] == "" {
		return nil
	}
	if cleaned {
		r.cleaning.reset()
	}
	base := ipc.DeepCopy()
	delete(ipc.Annotations, lcav1.ManualCleanupAnnotation)
	delete(ipc.Annotations, lcav1.TriggerReconcileAnnotation)
	if err := r.Client.Patch(ctx, ipc, client.MergeFrom(base)); err != nil {
		return fmt.Errorf("remove annotations of ipconfig %s: %w", ipc.Name, err)
	}
	return nil
}

// SetupWithManager has the controller run when the object, or an address of a node,
// changes, and once at the start, when there may be no object yet.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).Named("ipconfig").
		For(&lcav1.IPConfig{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(
			func(context.Context, client.Object) []reconcile.Request {
				return []reconcile.Request{singletonRequest()}
			},
		), builder.WithPredicates(addressesChanged())).
		WatchesRawSource(source.Func(atStart)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1, RateLimiter: patience()}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the ipconfig controller: %w", err)
	}
	return nil
}

// patience spaces out reconciliations that fail, as all do while the API restarts. The longest pause
// is short: people wait at the other end.
func patience() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](200*time.Millisecond, 20*time.Second)
}

func singletonRequest() reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: lcav1.IPConfigName}}
}

func atStart(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	queue.Add(singletonRequest())
	return nil
}

// addressesChanged lets through nodes that come, go, or have other addresses than before.
func addressesChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*corev1.Node)
		after, same := e.ObjectNew.(*corev1.Node)
		return ok && same && !equality.Semantic.DeepEqual(before.Status.Addresses, after.Status.Addresses)
	}}
}
