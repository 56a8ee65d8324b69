package ipam

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
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
		yes, err := r.clusterPaused(ctx, types.NamespacedName{Namespace: c.key.namespace, Name: name})
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
	return r.clusterPaused(ctx, types.NamespacedName{Namespace: o.Namespace, Name: *o.Spec.ClusterName})
}

// clusterPaused asks a Cluster. One that does not exist, like the kind itself where the Cluster API is not installed,
// pauses nothing.
func (r *Reconciler) clusterPaused(ctx context.Context, name types.NamespacedName) (bool, error) {
	if name.Name == "" {
		return false, nil
	}
	for _, version := range []string{"v1beta2", "v1beta1"} {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: version, Kind: "Cluster"})
		err := r.Reader.Get(ctx, name, o)
		if meta.IsNoMatchError(err) {
			continue
		}
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("read Cluster %s: %w", name, err)
		}
		yes, _, _ := unstructured.NestedBool(o.Object, "spec", "paused")
		return yes, nil
	}
	return false, nil
}
