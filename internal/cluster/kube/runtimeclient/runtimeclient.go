// Package runtimeclient makes the port of internal/cluster/kube from clients of controller-runtime, which the operator has.
// lca-cli must not import it.
package runtimeclient

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube"
)

// NewReader makes a reader.
func NewReader(r client.Reader) kube.Reader { return reader{r} }

// NewClient makes a client.
func NewClient(c client.Client) kube.Client { return adapter{reader{c}, c} }

type reader struct{ from client.Reader }

// Get implements kube.Reader.
func (r reader) Get(ctx context.Context, key kube.Key, into kube.Object) error {
	return r.from.Get(ctx, key, into)
}

// List implements kube.Reader.
func (r reader) List(ctx context.Context, into kube.ObjectList, selections ...kube.Selection) error {
	var options []client.ListOption
	for _, s := range selections {
		if s.Namespace != "" {
			options = append(options, client.InNamespace(s.Namespace))
		}
		if s.Labels != nil {
			options = append(options, client.MatchingLabelsSelector{Selector: s.Labels})
		}
	}
	return r.from.List(ctx, into, options...)
}

type adapter struct {
	reader
	to client.Client
}

// Create implements kube.Client.
func (a adapter) Create(ctx context.Context, o kube.Object) error { return a.to.Create(ctx, o) }

// Update implements kube.Client.
func (a adapter) Update(ctx context.Context, o kube.Object) error { return a.to.Update(ctx, o) }

// UpdateStatus implements kube.Client.
func (a adapter) UpdateStatus(ctx context.Context, o kube.Object) error {
	return a.to.Status().Update(ctx, o)
}

// Delete implements kube.Client.
func (a adapter) Delete(ctx context.Context, o kube.Object) error { return a.to.Delete(ctx, o) }

// Apply implements kube.Client.
func (a adapter) Apply(ctx context.Context, o *unstructured.Unstructured, manager string) error {
	return a.to.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(manager), client.ForceOwnership)
}

// IsNamespaced implements kube.Client.
func (a adapter) IsNamespaced(o kube.Object) (bool, error) { return a.to.IsObjectNamespaced(o) }
