// Package ipconfig reconciles the one IPConfig of the cluster.
//
//	observe -> recover -> decide and act -> report
//
// observe_node.go and observe_cluster.go read everything a decision rests on. recover.go brings a lost object back.
// state.go derives, without side effects, where the operation stands. decide.go chooses what to do; config.go, finish.go,
// idle.go and rollback.go do it, a stage each. report.go computes status, which is written with one patch and only if it
// changed.
//
// The operator acts on the node through lca-cli only, started as a transient unit. It also writes the request files of an
// operation, exports the object to ipc.json, and stops the watchdog once the change is proved. Nothing that a restart must
// not lose is kept in memory: journal, request, export and status hold it all.
package ipconfig

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube/runtimeclient"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/nodejob"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/singleton"
)

// kind is that of the one IPConfig.
var kind = singleton.Kind[lcav1.IPConfig, *lcav1.IPConfig]{
	Kind: "IPConfig", Name: lcav1.IPConfigName,
	Conditions:         func(ipc *lcav1.IPConfig) *[]metav1.Condition { return &ipc.Status.Conditions },
	ObservedGeneration: func(ipc *lcav1.IPConfig) *int64 { return &ipc.Status.ObservedGeneration },
}

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
	// InstallCLI puts the agent's lca-cli on the node; nil leaves the node's own.
	InstallCLI nodejob.Installer

	preparing, returning, cleaning, fetching, rehearsing nodejob.Backoff
	// accepted is the operation that was accepted last since the start.
	accepted string
	// examined is when the cluster's health was observed last.
	examined time.Time
	// hold is that of the health after the change of operation holding. A restart begins anew.
	hold    bringup.Hold
	holding string
	// What was published of the operation that is running: its timeline and its rollback; and whether anything was
	// published since the start.
	published          cursor
	publishedRollback  string
	publishedSomething bool
}

// Reconcile observes, takes the next step, and reports.
func (r *Reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	ipc, err := kind.Get(ctx, r.Reader)
	if err != nil {
		return reconcile.Result{}, err
	}
	o, err := r.observeNode(ctx)
	if err != nil {
		r.publishEvent(ctx, ipc, singleton.ObservationFailed(err, r.Now()))
		return reconcile.Result{}, errors.Join(fmt.Errorf("observe the node: %w", err),
			kind.ReportUnobserved(ctx, r.Client, ipc, err, r.Now()))
	}
	if other, err := r.otherAgent(ctx, o); other != "" || err != nil {
		if err == nil {
			r.publishEvent(ctx, ipc, kind.OtherAgent(other, r.Now()))
		}
		return reconcile.Result{RequeueAfter: whileBlocked}, err
	}
	if wrote, err := r.ensureObject(ctx, ipc, o); wrote || err != nil {
		return reconcile.Result{RequeueAfter: atOnce}, err
	}
	r.observeCluster(ctx, ipc, &o)
	if err := r.consumeAnnotations(ctx, ipc); err != nil {
		return reconcile.Result{}, err
	}
	out, err := r.decideStep(ctx, ipc, o)
	if err != nil {
		return reconcile.Result{}, err
	}
	if out.again == atRest {
		r.observeHealthAtRest(ctx)
	}
	if err := r.reportStatus(ctx, ipc, o, out); apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: atOnce}, nil
	} else if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: out.again}, nil
}

// otherAgent names an agent that serves the same IPConfig. Two that write the same status fight, so this one leaves the object
// alone. A change that is on the node is brought to its end all the same.
func (r *Reconciler) otherAgent(ctx context.Context, o observation) (string, error) {
	if o.request != nil {
		return "", nil
	}
	return cluster.OtherAgent(ctx, runtimeclient.NewReader(r.Reader))
}

// consumeAnnotations removes the annotations that are requests: this reconciliation is what trigger-reconcile asked for,
// and after a manual cleanup the agent retries at once.
func (r *Reconciler) consumeAnnotations(ctx context.Context, ipc *lcav1.IPConfig) error {
	_, cleaned := ipc.Annotations[lcav1.ManualCleanupAnnotation]
	if !cleaned && ipc.Annotations[lcav1.TriggerReconcileAnnotation] == "" {
		return nil
	}
	if cleaned {
		r.cleaning.Reset()
	}
	base := ipc.DeepCopy()
	delete(ipc.Annotations, lcav1.ManualCleanupAnnotation)
	delete(ipc.Annotations, lcav1.TriggerReconcileAnnotation)
	if err := r.Client.Patch(ctx, ipc, client.MergeFrom(base)); err != nil {
		return fmt.Errorf("remove annotations of ipconfig %s: %w", ipc.Name, err)
	}
	return nil
}

// SetupWithManager runs the controller when the object, or an address of a node, changes, and once at the start, when there
// may be no object yet.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	err := kind.NewController(mgr, "ipconfig").
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(
			func(context.Context, client.Object) []reconcile.Request {
				return []reconcile.Request{kind.Request()}
			},
		), builder.WithPredicates(addressesChanged())).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the ipconfig controller: %w", err)
	}
	return nil
}

// addressesChanged lets through nodes that are added, removed, or have other addresses than before.
func addressesChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*corev1.Node)
		after, same := e.ObjectNew.(*corev1.Node)
		return ok && same && !equality.Semantic.DeepEqual(before.Status.Addresses, after.Status.Addresses)
	}}
}
