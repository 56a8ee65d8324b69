package apitest

import (
	"context"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// ServerOrMemory returns the server of the package, and in a short run an API in memory, which is the test's own. That one
// keeps objects and their status apart, gives UIDs, counts generations and refuses stale updates. It validates, fills in,
// admits and grants nothing, and has no Config. A test that needs more calls Server.
func (s *Shared) ServerOrMemory(t testing.TB) *Server {
	t.Helper()
	if !testing.Short() {
		return s.Server(t)
	}
	return s.Memory(t)
}

// Memory returns the API in memory of ServerOrMemory, in every run.
func (s *Shared) Memory(t testing.TB) *Server {
	t.Helper()
	scheme, err := newScheme(s.options.AddToScheme)
	if err != nil {
		t.Fatal(err)
	}
	objects := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(withStatus(scheme)...).
		WithIndex(&corev1.Pod{}, "spec.nodeName", nodeOfPod).Build()
	return &Server{Scheme: scheme, Client: interceptor.NewClient(objects, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			if specOf(o) != nil {
				o.SetGeneration(1)
			}
			if o.GetUID() == "" {
				o.SetUID(uuid.NewUUID())
			}
			return c.Create(ctx, o, options...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.UpdateOption) error {
			before := read(ctx, c, o)
			countGeneration(before, o)
			return c.Update(ctx, o, options...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
			before := read(ctx, c, o)
			if err := c.Patch(ctx, o, p, options...); err != nil {
				return err
			}
			if !countGeneration(before, o) {
				return nil
			}
			return c.Update(ctx, o)
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			if err := findKind(scheme, o); err != nil {
				return err
			}
			return c.Get(ctx, key, o, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if err := findKind(scheme, list); err != nil {
				return err
			}
			return c.List(ctx, list, options...)
		},
	})}
}

// nodeOfPod is for the field selector. Where metadata alone are listed there is no field to select by.
func nodeOfPod(o client.Object) []string {
	pod, whole := o.(*corev1.Pod)
	if !whole {
		return nil
	}
	return []string{pod.Spec.NodeName}
}

// findKind is the error of an API that does not serve the kind of what is asked for.
func findKind(scheme *runtime.Scheme, o runtime.Object) error {
	kind := o.GetObjectKind().GroupVersionKind()
	if kind.Empty() || scheme.Recognizes(kind) {
		return nil
	}
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	return &meta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: []string{kind.Version}}
}

// read is the object as it is kept, or nil.
func read(ctx context.Context, c client.Client, o client.Object) client.Object {
	before := o.DeepCopyObject().(client.Object)
	if c.Get(ctx, client.ObjectKeyFromObject(o), before) != nil {
		return nil
	}
	return before
}

// countGeneration counts a change of the spec, as an API server does, and says whether there is one.
func countGeneration(before, after client.Object) bool {
	if before == nil || specOf(after) == nil {
		return false
	}
	changed := !reflect.DeepEqual(specOf(before), specOf(after))
	after.SetGeneration(before.GetGeneration())
	if changed {
		after.SetGeneration(before.GetGeneration() + 1)
	}
	return changed
}

func specOf(o client.Object) any {
	all, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil
	}
	return all["spec"]
}

// withStatus makes an object of each kind that has a status.
func withStatus(scheme *runtime.Scheme) []client.Object {
	var objects []client.Object
	for _, kind := range scheme.AllKnownTypes() {
		if _, has := kind.FieldByName("Status"); !has {
			continue
		}
		if o, ok := reflect.New(kind).Interface().(client.Object); ok {
			objects = append(objects, o)
		}
	}
	return objects
}
