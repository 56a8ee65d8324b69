package caches

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
)

// Own makes a cache of what concerns one node: its Node, its NodeNetworkState (both as metadata) and its enactments, beside
// the policies of the cluster. The agents of a large cluster would otherwise each hold every node's. It starts with mgr.
func Own(mgr ctrl.Manager, node string) (cache.Cache, error) {
	byName := cache.ByObject{Field: fields.OneTermEqualSelector("metadata.name", node)}
	c, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			NodeMetadata():  byName,
			StateMetadata(): byName,
			&nmstatev1beta1.NodeNetworkConfigurationEnactment{}: {
				Label: labels.SelectorFromSet(labels.Set{nmstatev1.NodeLabel: node}),
			},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("make the cache of node %s: %w", node, err)
	}
	if err := mgr.Add(c); err != nil {
		return nil, fmt.Errorf("start the cache of node %s: %w", node, err)
	}
	return c, nil
}

// NodeMetadata is an empty Node of which only metadata is read.
func NodeMetadata() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
	return m
}

// StateMetadata is an empty NodeNetworkState of which only metadata is read: its content is large.
func StateMetadata() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(nmstatev1beta1.GroupVersion.WithKind("NodeNetworkState"))
	return m
}
