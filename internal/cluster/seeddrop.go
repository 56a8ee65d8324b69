package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Removal names objects that an image must not have. An empty Namespace means cluster-scoped or all, an empty Name all.
type Removal struct {
	Group, Resource, Namespace, Name string
}

// hubGroup ends the names of the definitions of a hub's agents.
const hubGroup = ".open-cluster-management.io"

// installerNamespace is the Assisted Installer's.
const installerNamespace = "assisted-installer"

// SeedRemovals lists what must not be in an image of this cluster: what a hub's agents and the installer left, pods that have
// ended, and rendered machine configs that no pool uses. namespaced are the API's namespaced resources.
func SeedRemovals(ctx context.Context, r client.Reader, namespaced []schema.GroupResource) ([]Removal, error) {
	all := hubRoles()
	for _, find := range []func(context.Context, client.Reader) ([]Removal, error){
		hubDefinitions, endedPods, unusedRenderedConfigs,
	} {
		found, err := find(ctx, r)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	namespaces, err := leftNamespaces(ctx, r)
	if err != nil {
		return nil, err
	}
	for _, ns := range namespaces {
		all = append(all, Removal{Resource: "namespaces", Name: ns})
		for _, resource := range namespaced {
			all = append(all, Removal{Group: resource.Group, Resource: resource.Resource, Namespace: ns})
		}
	}
	return all, nil
}

// hubRoles are removed whether they exist or not.
func hubRoles() []Removal {
	const group = "rbac.authorization.k8s.io"
	return []Removal{
		{Group: group, Resource: "clusterroles", Name: "klusterlet"},
		{Group: group, Resource: "clusterroles", Name: "klusterlet-bootstrap-kubeconfig"},
		{Group: group, Resource: "clusterroles", Name: "open-cluster-management:klusterlet-admin-aggregate-clusterrole"},
		{Group: group, Resource: "clusterrolebindings", Name: "klusterlet"},
	}
}

// hubDefinitions are those of a hub's kinds, with all objects of the kinds.
func hubDefinitions(ctx context.Context, r client.Reader) (all []Removal, err error) {
	const group, resource = "apiextensions.k8s.io", "customresourcedefinitions"
	var definitions metav1.PartialObjectMetadataList
	definitions.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1", Kind: "CustomResourceDefinitionList"})
	if err := r.List(ctx, &definitions); err != nil {
		return nil, fmt.Errorf("list customresourcedefinitions: %w", err)
	}
	for _, d := range definitions.Items {
		if plural, of, ok := strings.Cut(d.Name, "."); ok && strings.HasSuffix("."+of, hubGroup) {
			all = append(all, Removal{Group: group, Resource: resource, Name: d.Name}, Removal{Group: of, Resource: plural})
		}
	}
	return all, nil
}

func endedPods(ctx context.Context, r client.Reader) (all []Removal, err error) {
	var pods corev1.PodList
	if err := r.List(ctx, &pods); err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			all = append(all, Removal{Resource: "pods", Namespace: p.Namespace, Name: p.Name})
		}
	}
	return all, nil
}

// unusedRenderedConfigs are rendered machine configs that no pool has, or is to have.
func unusedRenderedConfigs(ctx context.Context, r client.Reader) (all []Removal, err error) {
	var pools mcv1.MachineConfigPoolList
	if err := r.List(ctx, &pools); err != nil {
		return nil, fmt.Errorf("list machineconfigpools: %w", err)
	}
	var used []string
	for _, p := range pools.Items {
		used = append(used, p.Spec.Configuration.Name, p.Status.Configuration.Name)
	}
	var configs metav1.PartialObjectMetadataList
	configs.SetGroupVersionKind(mcv1.GroupVersion.WithKind("MachineConfigList"))
	if err := r.List(ctx, &configs); err != nil {
		return nil, fmt.Errorf("list machineconfigs: %w", err)
	}
	for _, c := range configs.Items {
		if strings.HasPrefix(c.Name, "rendered-") && !slices.Contains(used, c.Name) {
			all = append(all, Removal{Group: mcv1.GroupVersion.Group, Resource: "machineconfigs", Name: c.Name})
		}
	}
	return all, nil
}

// leftNamespaces are those of a hub's agents and of the installer.
func leftNamespaces(ctx context.Context, r client.Reader) (names []string, err error) {
	var all corev1.NamespaceList
	if err := r.List(ctx, &all); err != nil {
		return nil, fmt.Errorf("list namespaces: %w", err)
	}
	for _, n := range all.Items {
		if strings.HasPrefix(n.Name, "open-cluster-management-agent") || n.Name == installerNamespace {
			names = append(names, n.Name)
		}
	}
	return names, nil
}
