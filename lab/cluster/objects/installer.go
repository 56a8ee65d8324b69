package objects

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Installer creates objects through an API server.
type Installer struct {
	client client.Client
	log    *slog.Logger
}

// NewInstaller connects to the API server.
func NewInstaller(config *rest.Config, log *slog.Logger) (*Installer, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("build a scheme: %w", err)
	}
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("build a scheme: %w", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return &Installer{client: c, log: log}, nil
}

// InstallCRDs creates the CRDs and waits until the server serves all of them.
func (in *Installer) InstallCRDs(ctx context.Context, crds []*apiextensionsv1.CustomResourceDefinition) error {
	for _, crd := range crds {
		if err := in.client.Create(ctx, crd); err != nil {
			return fmt.Errorf("create the CRD %s: %w", crd.Name, err)
		}
	}
	for _, crd := range crds {
		if err := poll(ctx, 50*time.Millisecond, func() (bool, error) {
			if err := in.client.Get(ctx, client.ObjectKeyFromObject(crd), crd); err != nil {
				return false, err
			}
			return established(crd), nil
		}); err != nil {
			return fmt.Errorf("wait for the CRD %s: %w", crd.Name, err)
		}
	}
	in.log.Info("custom resource definitions installed", "count", len(crds))
	return nil
}

func established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, c := range crd.Status.Conditions {
		if c.Type == apiextensionsv1.Established {
			return c.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}

// Create makes the objects, with their status where they have one.
func (in *Installer) Create(ctx context.Context, list []*unstructured.Unstructured) error {
	for _, obj := range list {
		status, hasStatus := obj.Object["status"]
		name := obj.GetKind() + " " + obj.GetNamespace() + "/" + obj.GetName()
		if err := in.createOne(ctx, obj); err != nil {
			return fmt.Errorf("create %s: %w", name, err)
		}
		if !hasStatus || status == nil {
			continue
		}
		if err := in.setStatus(ctx, obj, status); err != nil {
			return fmt.Errorf("set the status of %s: %w", name, err)
		}
	}
	in.log.Info("cluster objects created", "count", len(list))
	return nil
}

// setStatus sets the status in the steps that the API allows: an operator's entry of a node is created without a revision.
func (in *Installer) setStatus(ctx context.Context, obj *unstructured.Unstructured, status any) error {
	steps := []any{status}
	obj.Object["status"] = status
	if nodes, found, _ := unstructured.NestedSlice(obj.Object, "status", "nodeStatuses"); found {
		steps = []any{map[string]any{"nodeStatuses": withoutRevisions(nodes)}, status}
	}
	for _, step := range steps {
		obj.Object["status"] = step
		// A kind without the status subresource answers "not found": its status came with the creation.
		if err := in.client.Status().Update(ctx, obj); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

func withoutRevisions(nodes []any) (bare []any) {
	for _, n := range nodes {
		if m, ok := n.(map[string]any); ok {
			bare = append(bare, map[string]any{"nodeName": m["nodeName"]})
		}
	}
	return bare
}

// createOne retries while the server has not yet heard of a kind or a namespace that was created a moment ago.
func (in *Installer) createOne(ctx context.Context, obj *unstructured.Unstructured) error {
	deadline := time.Now().Add(20 * time.Second)
	return poll(ctx, 100*time.Millisecond, func() (bool, error) {
		err := in.client.Create(ctx, obj.DeepCopy())
		switch {
		case err == nil:
			return true, in.client.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		case apierrors.IsAlreadyExists(err) && obj.GetKind() == "Namespace":
			return true, nil
		case time.Now().Before(deadline) && (apierrors.IsNotFound(err) || apierrors.IsServiceUnavailable(err) || meta.IsNoMatchError(err)):
			return false, nil
		}
		return false, err
	})
}

// poll calls f until it is done or fails, or ctx ends.
func poll(ctx context.Context, every time.Duration, f func() (bool, error)) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if done, err := f(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
