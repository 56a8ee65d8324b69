package kube

import (
	"context"
	"fmt"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// place is where the objects of a kind are.
type place struct {
	resource   schema.GroupVersionResource
	namespaced bool
}

// namespaceFor is that of a request: kinds of the whole cluster have none.
func (p place) namespaceFor(of string) string {
	if p.namespaced {
		return of
	}
	return ""
}

// servedKinds finds the places of kinds. It asks the server once for each version of a group, and again for a kind that was
// missing: its definition may have been installed meanwhile.
type servedKinds struct {
	server rest.Interface
	mu     sync.Mutex
	places map[schema.GroupVersionKind]place
}

func newServedKinds(config *rest.Config) (*servedKinds, error) {
	config = rest.CopyConfig(config)
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"}) // errors, and the lists of a server's kinds
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	server, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, err
	}
	return &servedKinds{server: server, places: map[schema.GroupVersionKind]place{}}, nil
}

func (s *servedKinds) findPlace(ctx context.Context, gvk schema.GroupVersionKind) (place, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, ok := s.places[gvk]; ok {
		return p, nil
	}
	at := gvk.GroupVersion()
	path := "/apis/" + at.String()
	if at.Group == "" {
		path = "/api/" + at.Version
	}
	var list metav1.APIResourceList
	err := s.server.Get().AbsPath(path).Do(ctx).Into(&list)
	if err != nil && !apierrors.IsNotFound(err) {
		return place{}, fmt.Errorf("list the kinds of %s: %w", at, err)
	}
	for _, r := range list.APIResources {
		if !strings.Contains(r.Name, "/") { // a subresource
			s.places[at.WithKind(r.Kind)] = place{at.WithResource(r.Name), r.Namespaced}
		}
	}
	if p, ok := s.places[gvk]; ok {
		return p, nil
	}
	return place{}, &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
}
