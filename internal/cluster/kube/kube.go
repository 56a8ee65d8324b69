// Package kube is the API of a cluster as the domains need it, and the connection of the node's program to it.
//
// The operator has caches and clients of controller-runtime, which runtimeclient turns into this port. Importing those, or the
// discovery of client-go, links the types of every group of Kubernetes, 8 MB of lca-cli: neither may be imported here.
package kube

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Object is one object: typed, unstructured, or metadata alone (PartialObjectMetadata).
type Object interface {
	metav1.Object
	runtime.Object
}

// ObjectList is a list of such.
type ObjectList interface {
	metav1.ListInterface
	runtime.Object
}

// Key names an object of a kind.
type Key = types.NamespacedName

// KeyOf is the key of an object.
func KeyOf(o Object) Key { return Key{Namespace: o.GetNamespace(), Name: o.GetName()} }

// Selection narrows a list. The zero value selects everything.
type Selection struct {
	Namespace string
	Labels    labels.Selector
}

// Reader reads objects. A kind that the API does not serve is an error for which meta.IsNoMatchError holds; a missing object is
// one for which apierrors.IsNotFound holds.
type Reader interface {
	Get(ctx context.Context, key Key, into Object) error
	// List reads the objects of a kind that match every selection; of their namespaces the last counts.
	List(ctx context.Context, into ObjectList, selections ...Selection) error
}

// Client reads and changes objects. Each change but Delete leaves in the object what the server made of it.
type Client interface {
	Reader
	Create(ctx context.Context, o Object) error
	Update(ctx context.Context, o Object) error
	UpdateStatus(ctx context.Context, o Object) error
	Delete(ctx context.Context, o Object) error
	// Apply has the server merge the object by its fields. The manager takes over fields that others have set.
	Apply(ctx context.Context, o *unstructured.Unstructured, manager string) error
	// IsNamespaced says whether objects of this kind are in a namespace.
	IsNamespaced(o Object) (bool, error)
}

// IgnoreNotFound is err, unless it says that the object is missing.
func IgnoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// IgnoreAlreadyExists is err, unless it says that the object exists.
func IgnoreAlreadyExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
