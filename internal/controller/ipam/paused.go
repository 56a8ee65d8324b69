package ipam

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
)

// paused says that an object itself is paused.
func paused(o client.Object) bool {
	_, yes := o.GetAnnotations()[metal3.PausedAnnotation]
	return yes
}

// paused says that a claim, its pool or the Cluster of either is paused.
func (r *Reconciler) paused(ctx context.Context, c *claim) (bool, error) {
	if paused(c.Object) {
		return true, nil
	}
	clusters := map[string]bool{c.cluster: true}
	if p := r.ledger.pool(c.pool); p != nil {
		if paused(p.object) {
			return true, nil
		}
		if p.object.Spec.ClusterName != nil {
			clusters[*p.object.Spec.ClusterName] = true
		}
	}
	for name := range clusters {
		yes, err := cluster.Paused(ctx, r.Reader, types.NamespacedName{Namespace: c.key.namespace, Name: name})
		if err != nil || yes {
			return yes, err
		}
	}
	return false, nil
}

// poolPaused says that a pool or its Cluster is paused.
func (r *Reconciler) poolPaused(ctx context.Context, o *metal3.IPPool) (bool, error) {
	if paused(o) || o.Spec.ClusterName == nil {
		return paused(o), nil
	}
	return cluster.Paused(ctx, r.Reader, types.NamespacedName{Namespace: o.Namespace, Name: *o.Spec.ClusterName})
}
