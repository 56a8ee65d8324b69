package nodenetwork

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/caches"
)

const (
	// gather is how long further changes may join the first one: a link that comes up makes a dozen.
	gather = 100 * time.Millisecond
	// rewatch is how soon a watch that ended is renewed: NetworkManager restarts, say.
	rewatch = time.Second
)

// SetupWithManager starts the publisher: a change of the network, of the object, or of the Node calls it.
func (p *Publisher) SetupWithManager(mgr ctrl.Manager, own cache.Cache) error {
	c, err := controller.NewUnmanaged("nodenetwork", controller.Options{
		Reconciler: p, MaxConcurrentReconciles: 1, SkipNameValidation: new(true), // a load test runs the agents of many nodes
		CacheSyncTimeout: mgr.GetControllerOptions().CacheSyncTimeout,
		RateLimiter:      workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](200*time.Millisecond, 30*time.Second),
	})
	if err != nil {
		return fmt.Errorf("make the controller: %w", err)
	}
	toSelf := &handler.TypedEnqueueRequestForObject[*metav1.PartialObjectMetadata]{}
	for _, s := range []source.Source{
		source.Kind(own, caches.StateMetadata(), toSelf, deletedOrRefreshed()),
		source.Kind(own, caches.NodeMetadata(), toSelf, nodeCreated()),
		source.Func(p.watchNetwork),
	} {
		if err := c.Watch(s); err != nil {
			return fmt.Errorf("watch: %w", err)
		}
	}
	if err := mgr.Add(c); err != nil {
		return fmt.Errorf("add the controller: %w", err)
	}
	return nil
}

// watchNetwork feeds the changes that the node reports into the queue, until ctx ends.
func (p *Publisher) watchNetwork(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	go func() {
		for ctx.Err() == nil {
			if err := p.enqueueChanges(ctx, queue); err != nil {
				p.Log.Warn("the network cannot be watched", "error", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(rewatch):
			}
		}
	}()
	return nil
}

func (p *Publisher) enqueueChanges(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	changes, err := p.Network.Changes(ctx)
	if err != nil {
		return fmt.Errorf("watch the network: %w", err)
	}
	for range changes {
		queue.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Name: p.NodeName}}, gather)
	}
	return nil
}

// deletedOrRefreshed lets deletions of the object pass, and updates that ask for a refresh.
func deletedOrRefreshed() predicate.TypedPredicate[*metav1.PartialObjectMetadata] {
	return predicate.TypedFuncs[*metav1.PartialObjectMetadata]{
		UpdateFunc: func(e event.TypedUpdateEvent[*metav1.PartialObjectMetadata]) bool {
			return e.ObjectOld.Labels[nmstatev1.ForceRefreshLabel] != e.ObjectNew.Labels[nmstatev1.ForceRefreshLabel]
		},
	}
}

// nodeCreated lets the Node's creation pass: the state is made with it, and its heartbeats are of no interest.
func nodeCreated() predicate.TypedPredicate[*metav1.PartialObjectMetadata] {
	return predicate.TypedFuncs[*metav1.PartialObjectMetadata]{
		UpdateFunc: func(e event.TypedUpdateEvent[*metav1.PartialObjectMetadata]) bool {
			return e.ObjectOld.UID != e.ObjectNew.UID
		},
		DeleteFunc: func(event.TypedDeleteEvent[*metav1.PartialObjectMetadata]) bool { return false },
	}
}
