package netpolicy

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
)

const (
	// workers is how many policies are reconciled at a time. A policy's decisions are made one after the other.
	workers = 4
	// batch collects the reports of many nodes into one decision and one status.
	batch = 200 * time.Millisecond
	// byPolicy is the index of enactments.
	byPolicy = "policy"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// SetupWithManager adds the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	err := mgr.GetFieldIndexer().IndexField(context.Background(), &v1beta1.NodeNetworkConfigurationEnactment{}, byPolicy,
		func(o client.Object) []string { return []string{o.GetLabels()[nmstatev1.PolicyLabel]} })
	if err != nil {
		return fmt.Errorf("index enactments by policy: %w", err)
	}
	states := &metav1.PartialObjectMetadata{}
	states.SetGroupVersionKind(v1beta1.GroupVersion.WithKind("NodeNetworkState"))
	b := ctrl.NewControllerManagedBy(mgr).Named("netpolicy").
		For(&nmstatev1.NodeNetworkConfigurationPolicy{}, builder.WithPredicates(specChanged())).
		Watches(&nmstatev1.NodeNetworkConfigurationPolicy{}, enqueueLater(r.allPolicies),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1beta1.NodeNetworkConfigurationEnactment{}, enqueueLater(ofEnactment)).
		Watches(&corev1.Node{}, enqueueLater(r.allPolicies), builder.WithPredicates(nodeChanged())).
		WatchesMetadata(states, enqueueLater(r.allPolicies), builder.WithPredicates(agentChanged())).
		WatchesRawSource(source.Channel(r.later.wake, enqueueLater(r.allPolicies))).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers})
	if r.later.watches, err = b.Build(r); err != nil {
		return fmt.Errorf("watch network policies: %w", err)
	}
	return nil
}

// specChanged leaves out updates of the status, which this controller writes itself.
func specChanged() predicate.Predicate {
	return predicate.Or(
		predicate.Predicate(predicate.GenerationChangedPredicate{}),
		predicate.AnnotationChangedPredicate{},
		predicate.Funcs{
			UpdateFunc: func(e event.UpdateEvent) bool {
				return !slices.Equal(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers())
			},
		},
	)
}

// nodeChanged leaves out heartbeats.
func nodeChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*corev1.Node), e.ObjectNew.(*corev1.Node)
		return isReady(before) != isReady(after) || !maps.Equal(before.Labels, after.Labels) ||
			before.Annotations[currentConfigAnnotation] != after.Annotations[currentConfigAnnotation]
	}}
}

// agentChanged lets network states pass that come and go, and those that say something else of refused enactments.
func agentChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetAnnotations()[v1beta1.RefusedAnnotation] != e.ObjectNew.GetAnnotations()[v1beta1.RefusedAnnotation]
	}}
}

func ofEnactment(_ context.Context, o client.Object) []string {
	return []string{o.GetLabels()[nmstatev1.PolicyLabel]}
}

func ofClaim(_ context.Context, o client.Object) []string {
	return []string{o.GetLabels()[nmstatev1.PolicyLabel]}
}

func (r *Reconciler) allPolicies(ctx context.Context, _ client.Object) []string {
	list := &nmstatev1.NodeNetworkConfigurationPolicyList{}
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		r.Log.Error("list policies", "error", err)
		return nil
	}
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

// enqueueLater enqueues policies by name, a moment later, so that events which come together are served together.
func enqueueLater(names func(context.Context, client.Object) []string) handler.EventHandler {
	add := func(ctx context.Context, o client.Object, to queue) {
		for _, name := range names(ctx, o) {
			if name != "" {
				to.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}, batch)
			}
		}
	}
	return handler.Funcs{
		CreateFunc:  func(ctx context.Context, e event.CreateEvent, to queue) { add(ctx, e.Object, to) },
		UpdateFunc:  func(ctx context.Context, e event.UpdateEvent, to queue) { add(ctx, e.ObjectNew, to) },
		GenericFunc: func(ctx context.Context, e event.GenericEvent, to queue) { add(ctx, e.Object, to) },
		DeleteFunc:  func(ctx context.Context, e event.DeleteEvent, to queue) { add(ctx, e.Object, to) },
	}
}

// later are kinds that may be served only after the operator started.
type later struct {
	// pools is set where the cluster has machine config pools, claims where it has address pools of ipam.metal3.io.
	pools, claims atomic.Bool
	watches       controller.Controller
	// wake has all policies reconciled.
	wake chan event.GenericEvent
}

// ServePools begins to watch machine config pools, once the cluster has them.
func (r *Reconciler) ServePools(mgr ctrl.Manager) error {
	changed := predicate.Or(predicate.Predicate(predicate.GenerationChangedPredicate{}), predicate.LabelChangedPredicate{})
	pools := source.Kind[client.Object](mgr.GetCache(), &mcv1.MachineConfigPool{}, enqueueLater(r.allPolicies), changed)
	if err := r.later.watches.Watch(pools); err != nil {
		return fmt.Errorf("watch machine config pools: %w", err)
	}
	r.later.startServing(&r.later.pools)
	return nil
}

// ServeClaims begins to claim addresses for nodes, once the cluster has the kinds for that.
func (r *Reconciler) ServeClaims(mgr ctrl.Manager) error {
	claims := source.Kind[client.Object](mgr.GetCache(), &metal3.IPClaim{}, enqueueLater(ofClaim))
	if err := r.later.watches.Watch(claims); err != nil {
		return fmt.Errorf("watch claims of addresses: %w", err)
	}
	r.later.startServing(&r.later.claims)
	return nil
}

// startServing has every policy reconciled with the new kind: some may wait for it.
func (l *later) startServing(served *atomic.Bool) {
	served.Store(true)
	l.wake <- event.GenericEvent{Object: &nmstatev1.NodeNetworkConfigurationPolicy{}}
}
