package hostnet

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
)

// hostPausedAnnotation pauses the controllers of a BareMetalHost.
const hostPausedAnnotation = "baremetalhost.metal3.io/paused"

// pausedRetry is how soon a paused Cluster is read again; owners are watched.
const pausedRetry = 15 * time.Second

// paused says that an owner or its Cluster is paused: nothing is created, changed or released for it.
func (r *Reconciler) paused(ctx context.Context, o client.Object) (bool, error) {
	for _, name := range []string{metal3.PausedAnnotation, hostPausedAnnotation} {
		if _, yes := o.GetAnnotations()[name]; yes {
			return true, nil
		}
	}
	return cluster.Paused(ctx, r.Reader, types.NamespacedName{Namespace: o.GetNamespace(), Name: clusterOf(o)})
}

// clusterOf is the name of the Cluster that an owner, or its claim, belongs to.
func clusterOf(o client.Object) string {
	if u, ok := o.(*unstructured.Unstructured); ok {
		if name, _, _ := unstructured.NestedString(u.Object, "spec", "clusterName"); name != "" {
			return name
		}
	}
	return o.GetLabels()[metal3.ClusterNameLabel]
}
