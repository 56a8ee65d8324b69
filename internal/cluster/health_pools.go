package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube"
)

// clusterVersion must be the one that the cluster version operator has observed.
func clusterVersion(ctx context.Context, r kube.Reader) ([]Finding, error) {
	var v configv1.ClusterVersion
	if err := r.Get(ctx, kube.Key{Name: "version"}, &v); err != nil {
		return nil, err
	}
	if v.Status.ObservedGeneration != v.Generation {
		return []Finding{{Object: v.Name, Reason: notObserved("cluster version operator", v.Generation, v.Status.ObservedGeneration)}}, nil
	}
	return nil, nil
}

func notObserved(operator string, want, have int64) string {
	return fmt.Sprintf("the %s has not observed its latest change yet (generation %d, observed %d)", operator, want, have)
}

// machineConfigPools must have all their machines ready, with the configuration that is made of all MachineConfigs.
func machineConfigPools(ctx context.Context, r kube.Reader) ([]Finding, error) {
	var list mcv1.MachineConfigPoolList
	if err := r.List(ctx, &list); err != nil {
		return nil, err
	}
	configs, err := listMachineConfigs(ctx, r)
	if err != nil {
		return nil, err
	}
	var found []Finding
	for i := range list.Items {
		p := &list.Items[i]
		problems, err := poolProblems(p, configs)
		if err != nil {
			return found, err
		}
		if len(problems) > 0 {
			found = append(found, Finding{Object: p.Name, Reason: strings.Join(problems, ", ")})
		}
	}
	return found, nil
}

// listMachineConfigs reads names and labels alone: a rendered MachineConfig has the content of hundreds of files.
func listMachineConfigs(ctx context.Context, r kube.Reader) ([]metav1.PartialObjectMetadata, error) {
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(mcv1.GroupVersion.WithKind("MachineConfigList"))
	if err := r.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list machineconfigs: %w", err)
	}
	return list.Items, nil
}

// poolProblems says why a pool is not done. A pool that is paused keeps the configuration that it has, because an
// administrator wants that: only its machines are judged.
func poolProblems(p *mcv1.MachineConfigPool, configs []metav1.PartialObjectMetadata) (problems []string, err error) {
	if p.Status.MachineCount != p.Status.ReadyMachineCount {
		problems = append(problems, fmt.Sprintf("%d of %d machines ready", p.Status.ReadyMachineCount, p.Status.MachineCount))
	}
	if text := poolDegraded(p); text != "" {
		problems = append(problems, text)
	}
	if p.Spec.Paused {
		return problems, nil
	}
	missing, err := missingSources(p, configs)
	if err != nil {
		return nil, err
	}
	if len(missing) > 0 {
		problems = append(problems, "its configuration does not have MachineConfig "+strings.Join(missing, ", ")+" yet")
	}
	return append(problems, poolProgress(p)...), nil
}

func poolCondition(p *mcv1.MachineConfigPool, kind mcv1.MachineConfigPoolConditionType) mcv1.MachineConfigPoolCondition {
	for _, c := range p.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return mcv1.MachineConfigPoolCondition{}
}

// poolDegraded reads the sum first, and then its parts, which are set a moment earlier.
func poolDegraded(p *mcv1.MachineConfigPool) string {
	for _, kind := range []mcv1.MachineConfigPoolConditionType{
		mcv1.MachineConfigPoolDegraded, mcv1.MachineConfigPoolRenderDegraded, mcv1.MachineConfigPoolNodeDegraded,
	} {
		if c := poolCondition(p, kind); c.Status == corev1.ConditionTrue {
			return formatReason("degraded", c.Reason, c.Message)
		}
	}
	return ""
}

// poolProgress says how far the pool is from the configuration that is wanted.
func poolProgress(p *mcv1.MachineConfigPool) (problems []string) {
	if p.Status.ObservedGeneration != p.Generation {
		problems = append(problems, notObserved("machine config operator", p.Generation, p.Status.ObservedGeneration))
	}
	if want, have := p.Spec.Configuration.Name, p.Status.Configuration.Name; want != have {
		problems = append(problems, fmt.Sprintf("it has %q and is to have %q", have, want))
	}
	if c := poolCondition(p, mcv1.MachineConfigPoolUpdating); c.Status == corev1.ConditionTrue {
		return append(problems, formatReason("updating", c.Reason, c.Message))
	}
	if c := poolCondition(p, mcv1.MachineConfigPoolUpdated); c.Status != corev1.ConditionTrue {
		problems = append(problems, formatReason("not updated", c.Reason, c.Message))
	}
	return problems
}

// missingSources lists the MachineConfigs of the pool that what it has, or is to have, was not rendered from. A MachineConfig
// that was just made is in no pool for as long as the machine config operator has not acted.
func missingSources(p *mcv1.MachineConfigPool, configs []metav1.PartialObjectMetadata) (missing []string, err error) {
	selector, err := metav1.LabelSelectorAsSelector(p.Spec.MachineConfigSelector)
	if err != nil {
		return nil, fmt.Errorf("read the machineConfigSelector of pool %s: %w", p.Name, err)
	}
	for _, c := range configs {
		if c.DeletionTimestamp != nil || !selector.Matches(labels.Set(c.Labels)) || strings.HasPrefix(c.Name, "rendered-") {
			continue
		}
		named := func(o corev1.ObjectReference) bool { return o.Name == c.Name }
		if !slices.ContainsFunc(p.Spec.Configuration.Source, named) || !slices.ContainsFunc(p.Status.Configuration.Source, named) {
			missing = append(missing, c.Name)
		}
	}
	return missing, nil
}
