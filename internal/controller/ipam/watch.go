package ipam

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	capi "github.com/lifecycle-agent/lifecycle-agent/api/capi/v1beta2"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// workers is how many claims of a kind are served at a time. Most of the time of each is waiting for the API.
const workers = 8

// SetupWithManager adds one controller for pools and one for each kind of claim.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.queues.claims = map[string]queue{}
	listening := sync.OnceValue(func() error { return r.listenToLocks(mgr.GetCache()) })
	locks := source.Func(func(context.Context, queue) error { return listening() })
	err := ctrl.NewControllerManagedBy(mgr).Named("ippool").
		For(&metal3.IPPool{}, builder.WithPredicates(changed())).
		WatchesRawSource(locks).
		WatchesRawSource(r.queues.tap(func(q queue) { r.queues.pools = q })).
		Complete(reconcile.Func(func(ctx context.Context, q reconcile.Request) (reconcile.Result, error) {
			return r.reconcilePool(ctx, q.NamespacedName)
		}))
	if err != nil {
		return fmt.Errorf("watch pools: %w", err)
	}
	watched := map[string]client.Object{"IPClaim": &metal3.IPClaim{}, "IPAddressClaim": &capi.IPAddressClaim{}}
	for _, k := range r.kinds() {
		kindName := k.key(types.NamespacedName{}).kind
		err := ctrl.NewControllerManagedBy(mgr).Named("ipam-"+kindName).
			Watches(watched[kindName], &inTurn{}, builder.WithPredicates(changed())).
			WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
			WatchesRawSource(locks).
			WatchesRawSource(r.queues.tap(func(q queue) { r.queues.claims[kindName] = q })).
			Complete(reconcile.Func(func(ctx context.Context, q reconcile.Request) (reconcile.Result, error) {
				return r.reconcileClaim(ctx, k, q.NamespacedName)
			}))
		if err != nil {
			return fmt.Errorf("watch claims: %w", err)
		}
	}
	if err := r.listenToAddresses(mgr.GetCache()); err != nil {
		return err
	}
	return mgr.Add(manager.RunnableFunc(r.serveEarly))
}

// changed leaves out what this controller writes itself: the status. Only a status that lost its address is
// somebody else's doing.
func changed() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		a, b := e.ObjectOld, e.ObjectNew
		return a.GetGeneration() != b.GetGeneration() || a.GetUID() != b.GetUID() || lostAddress(a, b) ||
			(a.GetDeletionTimestamp() == nil) != (b.GetDeletionTimestamp() == nil) ||
			!equality.Semantic.DeepEqual(a.GetAnnotations(), b.GetAnnotations()) ||
			!equality.Semantic.DeepEqual(a.GetLabels(), b.GetLabels()) ||
			!equality.Semantic.DeepEqual(a.GetFinalizers(), b.GetFinalizers())
	}}
}

func lostAddress(before, after client.Object) bool {
	switch a := after.(type) {
	case *metal3.IPClaim:
		b := before.(*metal3.IPClaim)
		return !equality.Semantic.DeepEqual(a.Status.Address, b.Status.Address) && b.Status.Address != nil
	case *capi.IPAddressClaim:
		b := before.(*capi.IPAddressClaim)
		return !equality.Semantic.DeepEqual(a.Status.AddressRef, b.Status.AddressRef) && b.Status.AddressRef != nil
	}
	return false
}
