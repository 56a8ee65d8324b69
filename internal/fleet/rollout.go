package fleet

import (
	"fmt"
	"path"
	"regexp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/fleet/definition"
)

// Rollout says how a table is rolled out.
type Rollout struct {
	// Name is that of the roll-out, and the beginning of the names of its objects; Namespace is on the hub.
	Name, Namespace string
	// MaxConcurrency is how many clusters change at a time.
	MaxConcurrency int
	// Timeout is how long it may take: all batches together with policies, one cluster with ManifestWorks. In minutes.
	Timeout int
}

// Label marks every object of a roll-out with its name.
const Label = "lca.openshift.io/rollout"

// maxPolicyName is what Open Cluster Management allows for namespace and name of a policy together, with the dot.
const maxPolicyName = 63

// longestSuffix is what is added to the name of a roll-out for a policy.
const longestSuffix = len("-object-99")

// Check says what is wrong with the roll-out itself.
func (r Rollout) Check() error {
	switch {
	case len(validation.IsDNS1123Label(r.Name)) > 0:
		return fmt.Errorf("name %q: it must have lower-case letters, digits and hyphens", r.Name)
	case len(validation.IsDNS1123Label(r.Namespace)) > 0:
		return fmt.Errorf("namespace %q: it must have lower-case letters, digits and hyphens", r.Namespace)
	case len(r.Namespace)+1+len(r.Name)+longestSuffix > maxPolicyName:
		return fmt.Errorf("name %s and namespace %s are too long together: they have %d characters, and policies allow %d",
			r.Name, r.Namespace, len(r.Name)+len(r.Namespace), maxPolicyName-1-longestSuffix)
	case r.MaxConcurrency < 1:
		return fmt.Errorf("max-concurrency %d: at least one cluster has to change at a time", r.MaxConcurrency)
	case r.Timeout < 1:
		return fmt.Errorf("timeout %d: it must be a number of minutes", r.Timeout)
	}
	return nil
}

// File is a file to write.
type File struct {
	Name string
	Data []byte
}

func (r Rollout) newMeta(suffix string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: r.Name + suffix, Namespace: r.Namespace, Labels: map[string]string{Label: r.Name}}
}

// encodeFile encodes objects into one file.
func encodeFile(name string, objects ...any) (File, error) {
	out := File{Name: name}
	for i, o := range objects {
		text, err := yaml.Marshal(o)
		if err != nil {
			return File{}, fmt.Errorf("encode %s: %w", name, err)
		}
		if i > 0 {
			out.Data = append(out.Data, "---\n"...)
		}
		out.Data = append(out.Data, text...)
	}
	return out, nil
}

func clusterFile(cluster string) string { return path.Join("clusters", cluster+".yaml") }

// nameLabel is the label of a ManagedCluster with its own name.
const nameLabel = "name"

func clusterSelector(clusters []string) definition.Selector {
	return definition.Selector{LabelSelector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: nameLabel, Operator: metav1.LabelSelectorOpIn, Values: clusters}}}}
}

// canaryGroup is the decision group that goes first.
const canaryGroup = "canaries"

// newPlacement selects the clusters of the table. A cluster that is unreachable for a while, as every one is that changes its
// address, stays selected.
func (r Rollout) newPlacement(sites []Site) definition.Placement {
	p := definition.Placement{
		TypeMeta: metav1.TypeMeta{APIVersion: definition.ClusterAPI, Kind: "Placement"}, ObjectMeta: r.newMeta(""),
		Spec: definition.PlacementSpec{Predicates: []definition.Predicate{
			{RequiredClusterSelector: clusterSelector(clusterNames(sites, false))}}},
	}
	for _, taint := range []string{"unreachable", "unavailable"} {
		p.Spec.Tolerations = append(p.Spec.Tolerations,
			definition.Toleration{Key: "cluster.open-cluster-management.io/" + taint, Operator: "Exists"})
	}
	if canaries := clusterNames(sites, true); len(canaries) > 0 {
		p.Spec.DecisionStrategy = &definition.DecisionStrategy{GroupStrategy: definition.GroupStrategy{
			DecisionGroups: []definition.DecisionGroup{{GroupName: canaryGroup, GroupClusterSelector: clusterSelector(canaries)}}}}
	}
	return p
}

// clusterNames lists the names of the clusters, or of the canaries alone.
func clusterNames(sites []Site, canaries bool) (out []string) {
	for _, s := range sites {
		if s.Canary || !canaries {
			out = append(out, s.Cluster)
		}
	}
	return out
}

// valueKey is how a value of a cluster is named in its ConfigMap.
func valueKey(kind, name string) string { return notInKeys.ReplaceAllString(kind+"."+name, "-") }

var notInKeys = regexp.MustCompile(`[^-._a-zA-Z0-9]`)
