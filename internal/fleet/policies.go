package fleet

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/fleet/definition"
)

// Keys of a cluster's ConfigMap.
const (
	keyChange  = "ipconfig"
	keySettled = "ipconfig-settled"
)

// Policies renders a roll-out by policies: a ConfigMap for each cluster with its values, policies that read them by the
// hub's templates, and ClusterGroupUpgrades that enforce them in batches. Nothing starts before a ClusterGroupUpgrade is
// enabled.
func (r Rollout) Policies(sites []Site) ([]File, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	var out []File
	for _, s := range sites {
		values, err := r.clusterValues(s, sites[0])
		if err != nil {
			return nil, err
		}
		f, err := encodeFile(clusterFile(s.Cluster), values)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return r.addShared(out, sites)
}

func (r Rollout) addShared(out []File, sites []Site) ([]File, error) {
	policies, err := r.policiesFor(sites[0])
	if err != nil {
		return nil, err
	}
	placed := []any{r.newPlacement(sites), r.newBinding(policies)}
	var objects []any
	for _, p := range policies {
		objects = append(objects, p)
	}
	for _, set := range []struct {
		name    string
		objects []any
	}{{"placement.yaml", placed}, {"policies.yaml", objects}, {"rollout.yaml", r.newUpgrades(sites)}} {
		f, err := encodeFile(set.name, set.objects...)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// clusterValues returns what the policies read of one cluster. What they do not read must be as on the first one.
func (r Rollout) clusterValues(s, first Site) (corev1.ConfigMap, error) {
	out := corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: r.newMeta("-" + s.Cluster),
		Data: map[string]string{}}
	put := func(key string, v any) error {
		text, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("encode the values of cluster %s: %w", s.Cluster, err)
		}
		out.Data[key] = string(text)
		return nil
	}
	if s.IPConfig != nil {
		if err := put(keyChange, s.IPConfig); err != nil {
			return out, err
		}
		if err := put(keySettled, settledStatus(s.IPConfig)); err != nil {
			return out, err
		}
	}
	for i, o := range s.Objects {
		if !reflect.DeepEqual(metadataOf(o), metadataOf(first.Objects[i])) {
			return out, fmt.Errorf("%s %s has other labels or annotations on cluster %s than on %s, and policies have one for all; "+
				"render it as ManifestWorks", o.GetKind(), o.GetName(), s.Cluster, first.Cluster)
		}
		k := valueKey(o.GetKind(), o.GetName())
		if err := put(k, o.Object["spec"]); err != nil {
			return out, err
		}
		if strings.Contains(out.Data[k]+fmt.Sprint(metadataOf(o)), "{{") {
			return out, fmt.Errorf("%s %s has {{ }}, which policies read as templates of their own; render it as ManifestWorks",
				o.GetKind(), o.GetName())
		}
	}
	return out, nil
}

// settledStatus is the status of a cluster that is where its row wants it, with nothing in progress.
func settledStatus(spec *lcav1.IPConfigSpec) map[string]any {
	out := map[string]any{"conditions": trueCondition(lcav1.ConditionIdle)}
	if spec.IPv4 != nil {
		out["ipv4"] = map[string]any{"address": spec.IPv4.Address}
	}
	if spec.IPv6 != nil {
		out["ipv6"] = map[string]any{"address": spec.IPv6.Address}
	}
	if len(spec.DNSServers) > 0 {
		out["dnsServers"] = spec.DNSServers
	}
	if spec.VLANID != nil && *spec.VLANID != 0 {
		out["vlanID"] = *spec.VLANID
	}
	return out
}

// trueCondition makes the condition that must be True.
func trueCondition(kind string) []any {
	return []any{map[string]any{"type": kind, "status": string(metav1.ConditionTrue)}}
}

// valueTemplate returns the hub's template for a value of the cluster that a policy is for.
func (r Rollout) valueTemplate(key string) string {
	return fmt.Sprintf(`{{hub fromConfigMap "" (printf "%s-%%s" .ManagedClusterName) "%s" | toLiteral hub}}`, r.Name, key)
}

// policiesFor makes one for each object of a site. They are the same for all sites.
func (r Rollout) policiesFor(s Site) (out []definition.Policy, err error) {
	add := func(suffix string, object map[string]any) {
		var p definition.Policy
		if err == nil {
			p, err = r.newPolicy(suffix, object)
		}
		out = append(out, p)
	}
	for i, o := range s.Objects {
		g, _ := goalOf(o)
		add(fmt.Sprintf("-object-%d", i+1), map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "metadata": metadataOf(o),
			"spec": r.valueTemplate(valueKey(o.GetKind(), o.GetName())), "status": map[string]any{"conditions": trueCondition(g.reached)}})
	}
	if s.IPConfig != nil {
		add("-change", r.ipConfig(map[string]any{"spec": r.valueTemplate(keyChange),
			"status": map[string]any{"conditions": trueCondition(lcav1.ConditionConfigCompleted)}}))
		add("-finalize", r.ipConfig(map[string]any{"spec": map[string]any{"stage": string(lcav1.StageIdle)},
			"status": map[string]any{"conditions": trueCondition(lcav1.ConditionIdle)}}))
		add("-settled", r.ipConfig(map[string]any{"status": r.valueTemplate(keySettled)}))
	}
	return out, err
}

func (r Rollout) ipConfig(body map[string]any) map[string]any {
	body["apiVersion"], body["kind"] = lcav1.GroupVersion.String(), "IPConfig"
	body["metadata"] = map[string]any{"name": lcav1.IPConfigName}
	return body
}

// metadataOf is the metadata of an object, which is the same on all clusters.
func metadataOf(o *unstructured.Unstructured) map[string]any {
	out := map[string]any{"name": o.GetName()}
	if o.GetNamespace() != "" {
		out["namespace"] = o.GetNamespace()
	}
	if labels := o.GetLabels(); len(labels) > 0 {
		out["labels"] = labels
	}
	if annotations := o.GetAnnotations(); len(annotations) > 0 {
		out["annotations"] = annotations
	}
	return out
}

// newPolicy makes a policy that only informs: the ClusterGroupUpgrade enforces it, one batch after the other.
func (r Rollout) newPolicy(suffix string, object map[string]any) (definition.Policy, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return definition.Policy{}, fmt.Errorf("encode policy %s%s: %w", r.Name, suffix, err)
	}
	return definition.Policy{
		TypeMeta: metav1.TypeMeta{APIVersion: definition.PolicyAPI, Kind: "Policy"}, ObjectMeta: r.newMeta(suffix),
		Spec: definition.PolicySpec{RemediationAction: definition.Inform, PolicyTemplates: []definition.PolicyTemplate{{
			ObjectDefinition: definition.ConfigurationPolicy{
				TypeMeta:   metav1.TypeMeta{APIVersion: definition.PolicyAPI, Kind: "ConfigurationPolicy"},
				ObjectMeta: metav1.ObjectMeta{Name: r.Name + suffix},
				Spec: definition.ConfigurationPolicySpec{RemediationAction: definition.Inform, Severity: "medium",
					ObjectTemplates: []definition.ObjectTemplate{{ComplianceType: definition.MustHave, ObjectDefinition: text}}},
			}}}},
	}, nil
}

func (r Rollout) newBinding(policies []definition.Policy) definition.PlacementBinding {
	group, _, _ := strings.Cut(definition.PolicyAPI, "/")
	clusters, _, _ := strings.Cut(definition.ClusterAPI, "/")
	b := definition.PlacementBinding{
		TypeMeta: metav1.TypeMeta{APIVersion: definition.PolicyAPI, Kind: "PlacementBinding"}, ObjectMeta: r.newMeta(""),
		PlacementRef: definition.Reference{APIGroup: clusters, Kind: "Placement", Name: r.Name},
	}
	for _, p := range policies {
		b.Subjects = append(b.Subjects, definition.Reference{APIGroup: group, Kind: "Policy", Name: p.Name})
	}
	return b
}

// newUpgrades makes the batches: the objects first, then the addresses, then what makes them final.
func (r Rollout) newUpgrades(sites []Site) (out []any) {
	var before string
	add := func(suffix string, policies ...string) {
		u := definition.ClusterGroupUpgrade{
			TypeMeta: metav1.TypeMeta{APIVersion: definition.RolloutAPI, Kind: "ClusterGroupUpgrade"}, ObjectMeta: r.newMeta(suffix),
			Spec: definition.ClusterGroupUpgradeSpec{
				BatchTimeoutAction: "Abort", Clusters: clusterNames(sites, false), ManagedPolicies: policies,
				RemediationStrategy: definition.RemediationStrategy{
					Canaries: clusterNames(sites, true), MaxConcurrency: r.MaxConcurrency, Timeout: r.Timeout}},
		}
		if before != "" {
			u.Spec.BlockingCRs = []definition.BlockingCR{{Name: before, Namespace: r.Namespace}}
		}
		before = u.Name
		out = append(out, u)
	}
	var objects []string
	for i := range sites[0].Objects {
		objects = append(objects, fmt.Sprintf("%s-object-%d", r.Name, i+1))
	}
	if len(objects) > 0 {
		add("-objects", objects...)
	}
	if sites[0].IPConfig != nil {
		add("-change", r.Name+"-change")
		add("-finalize", r.Name+"-finalize")
	}
	return out
}
