package kube

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/json"
)

// connection is a Client over HTTP, without a cache.
type connection struct {
	scheme   *runtime.Scheme
	objects  dynamic.Interface
	metadata metadata.Interface
	served   *servedKinds
}

var _ Client = connection{}

// Connect makes a client that knows the types of the scheme. Nothing is sent yet.
func Connect(config *rest.Config, scheme *runtime.Scheme) (Client, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // the server limits by itself, and a flow that waits holds the node up
	config.WarningHandler = rest.NoWarnings{}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", config.Host, err)
	}
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", config.Host, err)
	}
	served, err := newServedKinds(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", config.Host, err)
	}
	return connection{scheme, objects, meta, served}, nil
}

// kindOf is the kind of an object, or that of the objects of a list.
func (c connection) kindOf(o runtime.Object) (schema.GroupVersionKind, error) {
	gvk := o.GetObjectKind().GroupVersionKind()
	switch o.(type) {
	case *unstructured.Unstructured, *unstructured.UnstructuredList, *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
	default:
		kinds, _, err := c.scheme.ObjectKinds(o)
		if err != nil {
			return gvk, fmt.Errorf("find the kind of %T: %w", o, err)
		}
		gvk = kinds[0]
	}
	if _, list := o.(ObjectList); list {
		gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	}
	return gvk, nil
}

// Get implements Reader.
func (c connection) Get(ctx context.Context, key Key, into Object) error {
	gvk, err := c.kindOf(into)
	if err != nil {
		return err
	}
	at, err := c.served.findPlace(ctx, gvk)
	if err != nil {
		return err
	}
	if part, ok := into.(*metav1.PartialObjectMetadata); ok {
		found, err := c.metadata.Resource(at.resource).Namespace(at.namespaceFor(key.Namespace)).Get(ctx, key.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		*part = *found
		part.SetGroupVersionKind(gvk)
		return nil
	}
	found, err := c.resourceAt(at, key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return decodeAnswer(found, into)
}

// List implements Reader.
func (c connection) List(ctx context.Context, into ObjectList, selections ...Selection) error {
	gvk, err := c.kindOf(into)
	if err != nil {
		return err
	}
	at, err := c.served.findPlace(ctx, gvk)
	if err != nil {
		return err
	}
	namespace, options := Merge(selections)
	if part, ok := into.(*metav1.PartialObjectMetadataList); ok {
		found, err := c.metadata.Resource(at.resource).Namespace(at.namespaceFor(namespace)).List(ctx, options)
		if err != nil {
			return err
		}
		gvk := part.GroupVersionKind()
		*part = *found
		part.SetGroupVersionKind(gvk)
		return nil
	}
	found, err := c.resourceAt(at, namespace).List(ctx, options)
	if err != nil {
		return err
	}
	return decodeAnswer(found, into)
}

// Merge is the namespace of the selections, empty for all, and the options of a list of them.
func Merge(selections []Selection) (namespace string, options metav1.ListOptions) {
	var texts []string
	for _, s := range selections {
		if s.Namespace != "" {
			namespace = s.Namespace
		}
		if s.Labels != nil && !s.Labels.Empty() {
			texts = append(texts, s.Labels.String())
		}
	}
	return namespace, metav1.ListOptions{LabelSelector: strings.Join(texts, ",")}
}

// Create implements Client.
func (c connection) Create(ctx context.Context, o Object) error {
	return c.sendChange(ctx, o, func(at dynamic.ResourceInterface, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		return at.Create(ctx, u, metav1.CreateOptions{})
	})
}

// Update implements Client.
func (c connection) Update(ctx context.Context, o Object) error {
	return c.sendChange(ctx, o, func(at dynamic.ResourceInterface, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		return at.Update(ctx, u, metav1.UpdateOptions{})
	})
}

// UpdateStatus implements Client.
func (c connection) UpdateStatus(ctx context.Context, o Object) error {
	return c.sendChange(ctx, o, func(at dynamic.ResourceInterface, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		return at.UpdateStatus(ctx, u, metav1.UpdateOptions{})
	})
}

// Apply implements Client.
func (c connection) Apply(ctx context.Context, o *unstructured.Unstructured, manager string) error {
	return c.sendChange(ctx, o, func(at dynamic.ResourceInterface, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		return at.Apply(ctx, u.GetName(), u, metav1.ApplyOptions{FieldManager: manager, Force: true})
	})
}

// sendChange sends an object and puts the answer into it.
func (c connection) sendChange(ctx context.Context, o Object,
	send func(dynamic.ResourceInterface, *unstructured.Unstructured) (*unstructured.Unstructured, error),
) error {
	gvk, err := c.kindOf(o)
	if err != nil {
		return err
	}
	at, err := c.served.findPlace(ctx, gvk)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{}
	if u.Object, err = runtime.DefaultUnstructuredConverter.ToUnstructured(o); err != nil {
		return fmt.Errorf("encode %s %s: %w", gvk.Kind, o.GetName(), err)
	}
	u.SetGroupVersionKind(gvk)
	answer, err := send(c.resourceAt(at, o.GetNamespace()), u)
	if err != nil {
		return err
	}
	return decodeAnswer(answer, o)
}

// Delete implements Client.
func (c connection) Delete(ctx context.Context, o Object) error {
	gvk, err := c.kindOf(o)
	if err != nil {
		return err
	}
	at, err := c.served.findPlace(ctx, gvk)
	if err != nil {
		return err
	}
	return c.resourceAt(at, o.GetNamespace()).Delete(ctx, o.GetName(), metav1.DeleteOptions{})
}

// IsNamespaced implements Client.
func (c connection) IsNamespaced(o Object) (bool, error) {
	gvk, err := c.kindOf(o)
	if err != nil {
		return false, err
	}
	at, err := c.served.findPlace(context.Background(), gvk)
	return at.namespaced, err
}

func (c connection) resourceAt(p place, namespace string) dynamic.ResourceInterface {
	return c.objects.Resource(p.resource).Namespace(p.namespaceFor(namespace))
}

// decodeAnswer puts what the server answered into an object or a list, by its JSON.
func decodeAnswer(answer interface{ MarshalJSON() ([]byte, error) }, into runtime.Object) error {
	data, err := answer.MarshalJSON()
	if err != nil {
		return fmt.Errorf("encode the answer of the API: %w", err)
	}
	switch o := into.(type) {
	case *unstructured.Unstructured:
		*o = unstructured.Unstructured{}
		return o.UnmarshalJSON(data)
	case *unstructured.UnstructuredList:
		*o = unstructured.UnstructuredList{}
		return o.UnmarshalJSON(data)
	}
	reflect.ValueOf(into).Elem().SetZero()
	if err := json.UnmarshalCaseSensitivePreserveInts(data, into); err != nil {
		return fmt.Errorf("decode %T: %w", into, err)
	}
	return nil
}
