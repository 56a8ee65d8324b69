package fleet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/fleet/definition"
)

// Works renders a roll-out by ManifestWorks. Objects that are the same on all clusters become one ManifestWorkReplicaSet,
// which goes from the canaries to the others by itself; objects that differ become a ManifestWork for each cluster, which
// starts when it is applied.
func (r Rollout) Works(sites []Site) ([]File, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	common, err := commonObjects(sites)
	if err != nil {
		return nil, err
	}
	var out []File
	if len(common) > 0 {
		f, err := r.replicaSetFile(sites, common)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	for _, s := range sites {
		own := slices.DeleteFunc(slices.Clone(s.Objects), func(o *unstructured.Unstructured) bool { return common[objectName(o)] })
		if s.IPConfig != nil {
			o, err := ipConfigObject(s.IPConfig)
			if err != nil {
				return nil, err
			}
			own = append(own, o)
		}
		if len(own) == 0 {
			continue
		}
		work, err := workSpec(own)
		if err != nil {
			return nil, err
		}
		meta := r.newMeta("")
		meta.Namespace = s.Cluster
		f, err := encodeFile(workFile(s), definition.ManifestWork{
			TypeMeta: metav1.TypeMeta{APIVersion: definition.WorkAPI, Kind: "ManifestWork"}, ObjectMeta: meta, Spec: work})
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// workFile has canaries in a folder of their own, so that they can be applied first.
func workFile(s Site) string {
	if s.Canary {
		return canaryGroup + "/" + s.Cluster + ".yaml"
	}
	return clusterFile(s.Cluster)
}

func objectName(o *unstructured.Unstructured) string {
	return o.GetKind() + "/" + o.GetNamespace() + "/" + o.GetName()
}

// commonObjects are those with the same text on all sites.
func commonObjects(sites []Site) (map[string]bool, error) {
	first, common := map[string][]byte{}, map[string]bool{}
	for i, s := range sites {
		for _, o := range s.Objects {
			text, err := json.Marshal(o.Object)
			if err != nil {
				return nil, fmt.Errorf("encode %s of cluster %s: %w", objectName(o), s.Cluster, err)
			}
			if i == 0 {
				first[objectName(o)], common[objectName(o)] = text, true
			} else if !bytes.Equal(first[objectName(o)], text) {
				delete(common, objectName(o))
			}
		}
	}
	return common, nil
}

func ipConfigObject(spec *lcav1.IPConfigSpec) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spec)
	if err != nil {
		return nil, fmt.Errorf("encode an IPConfig: %w", err)
	}
	o := &unstructured.Unstructured{Object: map[string]any{"spec": content}}
	o.SetAPIVersion(lcav1.GroupVersion.String())
	o.SetKind("IPConfig")
	o.SetName(lcav1.IPConfigName)
	return o, nil
}

// replicaSetFile has the one of the common objects, with its placement.
func (r Rollout) replicaSetFile(sites []Site, common map[string]bool) (File, error) {
	var same []*unstructured.Unstructured
	for _, o := range sites[0].Objects {
		if common[objectName(o)] {
			same = append(same, o)
		}
	}
	set, err := r.replicaSet(sites, same)
	if err != nil {
		return File{}, err
	}
	return encodeFile("rollout.yaml", r.newPlacement(sites), set)
}

func (r Rollout) replicaSet(sites []Site, objects []*unstructured.Unstructured) (definition.ManifestWorkReplicaSet, error) {
	work, err := workSpec(objects)
	progressive := definition.Progressive{
		MaxConcurrency: r.MaxConcurrency, MinSuccessTime: "5m", ProgressDeadline: fmt.Sprintf("%dm", r.Timeout)}
	if len(clusterNames(sites, true)) > 0 {
		progressive.MandatoryDecisionGroups = []definition.MandatoryGroup{{GroupName: canaryGroup}}
	}
	return definition.ManifestWorkReplicaSet{
		TypeMeta: metav1.TypeMeta{APIVersion: definition.ReplicaSetAPI, Kind: "ManifestWorkReplicaSet"}, ObjectMeta: r.newMeta("-objects"),
		Spec: definition.ReplicaSetSpec{ManifestWorkTemplate: work, PlacementRefs: []definition.PlacementRef{{Name: r.Name,
			RolloutStrategy: definition.RolloutStrategy{Type: "Progressive", Progressive: progressive}}}},
	}, err
}

// workSpec leaves the objects on the cluster when the work is deleted.
func workSpec(objects []*unstructured.Unstructured) (definition.WorkSpec, error) {
	out := definition.WorkSpec{DeleteOption: definition.DeleteOption{PropagationPolicy: "Orphan"}}
	for _, o := range objects {
		text, err := json.Marshal(o.Object)
		if err != nil {
			return out, fmt.Errorf("encode %s: %w", objectName(o), err)
		}
		g, _ := goalOf(o)
		out.Workload.Manifests = append(out.Workload.Manifests, text)
		out.ManifestConfigs = append(out.ManifestConfigs, definition.ManifestConfig{
			ResourceIdentifier: definition.ResourceIdentifier{
				Group: g.group, Resource: g.resource, Name: o.GetName(), Namespace: o.GetNamespace()},
			UpdateStrategy: definition.UpdateStrategy{
				Type: "ServerSideApply", ServerSideApply: &definition.ServerSideApply{Force: true}},
			ConditionRules: g.conditionRules(), FeedbackRules: g.feedbackRules(),
		})
	}
	return out, nil
}

// conditionRules make the conditions of the work from those of the object. The one of an IPConfig is Complete when the address has
// changed: the work then writes it no more, and the person who ends the change is not overruled.
func (g goal) conditionRules() []definition.ConditionRule {
	const cel = "CEL"
	is := func(kind, status string) string {
		return "has(object.status) && has(object.status.conditions) && " +
			fmt.Sprintf("object.status.conditions.exists(c, c.type == %q && c.status == %q)", kind, status)
	}
	reached := is(g.reached, "True")
	failed := is(g.reached, "False")
	if g.failed != "" {
		failed = is(g.failed, "True")
	}
	out := []definition.ConditionRule{
		{Condition: "Progressing", Type: cel, CelExpressions: []string{"!(" + reached + ")"},
			Message: "by condition " + g.reached + " of the object"},
		{Condition: "Degraded", Type: cel, CelExpressions: []string{failed}, Message: "by the conditions of the object"},
	}
	if g == addressGoal() {
		out = append(out, definition.ConditionRule{Condition: "Complete", Type: cel, CelExpressions: []string{reached}})
	}
	return out
}

func (g goal) feedbackRules() []definition.FeedbackRule {
	at := fmt.Sprintf(`.status.conditions[?(@.type=="%s")]`, g.reached)
	return []definition.FeedbackRule{{Type: "JSONPaths", JSONPaths: []definition.JSONPath{
		{Name: "status", Path: at + ".status"}, {Name: "reason", Path: at + ".reason"}, {Name: "message", Path: at + ".message"}}}}
}
