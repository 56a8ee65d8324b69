package netenactment

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ktypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/caches"
)

const (
	// settle is how long a change of the network may go on before it counts as drift: a reapplied profile takes several
	// steps. It is within the second in which drift is reported.
	settle  = 400 * time.Millisecond
	rewatch = time.Second
)

// SetupWithManager starts the controller over the cache of what concerns the node. Every event has the same key: one pass
// serves all policies, because a node enacts one at a time.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, own cache.Cache) error {
	c, err := controller.NewUnmanaged("netenactment", controller.Options{
		Reconciler: r, MaxConcurrentReconciles: 1, SkipNameValidation: new(true), // a load test runs the agents of many nodes
		CacheSyncTimeout: mgr.GetControllerOptions().CacheSyncTimeout,
		RateLimiter:      workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](200*time.Millisecond, 30*time.Second),
	})
	if err != nil {
		return fmt.Errorf("make the controller: %w", err)
	}
	for _, s := range []source.Source{
		source.Kind(own, &nmstatev1.NodeNetworkConfigurationPolicy{}, toOne[*nmstatev1.NodeNetworkConfigurationPolicy](r.NodeName)),
		source.Kind(own, &nmstatev1beta1.NodeNetworkConfigurationEnactment{},
			toOne[*nmstatev1beta1.NodeNetworkConfigurationEnactment](r.NodeName)),
		source.Kind(own, caches.NodeMetadata(), toOne[*metav1.PartialObjectMetadata](r.NodeName)),
		source.Func(r.watch),
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

func toOne[T client.Object](node string) handler.TypedEventHandler[T, reconcile.Request] {
	return handler.TypedEnqueueRequestsFromMapFunc(func(context.Context, T) []reconcile.Request {
		return []reconcile.Request{key(node)}
	})
}

// watch feeds the changes that the node reports into the queue, until ctx ends.
func (r *Reconciler) watch(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	go func() {
		for ctx.Err() == nil {
			if err := r.feed(ctx, queue); err != nil {
				r.Log.Warn("the network cannot be watched for drift", "error", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(rewatch):
			}
		}
	}()
	return nil
}

func (r *Reconciler) feed(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	changes, err := r.Node.Network.Changes(ctx)
	if err != nil {
		return err
	}
	for range changes {
		queue.AddAfter(key(r.NodeName), settle)
	}
	return nil
}

func key(node string) reconcile.Request {
	return reconcile.Request{NamespacedName: ktypes.NamespacedName{Name: node}}
}
