package cluster

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

// Paused asks a Cluster of the Cluster API whether what belongs to it is to be left alone. A Cluster that does not exist,
// like the kind itself where the Cluster API is not installed, pauses nothing.
func Paused(ctx context.Context, from client.Reader, name types.NamespacedName) (bool, error) {
	if name.Name == "" {
		return false, nil
	}
	for _, version := range []string{"v1beta2", "v1beta1"} {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: version, Kind: "Cluster"})
		err := from.Get(ctx, name, o)
		if meta.IsNoMatchError(err) {
			continue
		}
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("read Cluster %s: %w", name, err)
		}
		_, annotated := o.GetAnnotations()[metal3.PausedAnnotation]
		yes, _, _ := unstructured.NestedBool(o.Object, "spec", "paused")
		return yes || annotated, nil
	}
	return false, nil
}
