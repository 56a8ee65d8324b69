package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube"
)

// Removal names objects that an image must not have. An empty Namespace means cluster-scoped or all, an empty Name all.
type Removal struct {
	Group, Resource, Namespace, Name string
}

// SeedRemovals lists what an image of this cluster need not have: pods that have ended, and rendered machine configs that no
// pool uses.
func SeedRemovals(ctx context.Context, r kube.Reader) ([]Removal, error) {
	pods, err := endedPods(ctx, r)
	if err != nil {
		return nil, err
	}
	configs, err := unusedRenderedConfigs(ctx, r)
	return append(pods, configs...), err
}

func endedPods(ctx context.Context, r kube.Reader) (all []Removal, err error) {
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
func unusedRenderedConfigs(ctx context.Context, r kube.Reader) (all []Removal, err error) {
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
