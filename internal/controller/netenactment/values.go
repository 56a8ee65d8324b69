package netenactment

import (
	"encoding/json"
	"fmt"
	"maps"

	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
)

// templateValues are the policy's template values on this node: labels and annotations of the Node, and the addresses that the
// operator claimed. missing names the one that the node waits for.
func templateValues(s *scene, v *view) (all map[string]string, missing string, err error) {
	all = map[string]string{}
	if v.enactment != nil && v.enactment.Annotations[nmstatev1beta1.ValuesAnnotation] != "" {
		claimed := map[string]string{}
		if err := json.Unmarshal([]byte(v.enactment.Annotations[nmstatev1beta1.ValuesAnnotation]), &claimed); err != nil {
			return nil, "", fmt.Errorf("decode annotation %s of %s: %w", nmstatev1beta1.ValuesAnnotation, v.enactment.Name, err)
		}
		maps.Copy(all, claimed)
	}
	for _, t := range v.policy.Spec.TemplateValues {
		value, found, what := "", false, ""
		switch {
		case t.Label != "":
			value, found = s.node.Labels[t.Label]
			what = "label " + t.Label
		case t.Annotation != "":
			value, found = s.node.Annotations[t.Annotation]
			what = "annotation " + t.Annotation
		default:
			value, found = all[t.Name]
			what = "an address for value " + t.Name
		}
		if !found && t.Default != nil {
			value, found = *t.Default, true
		}
		if !found {
			return nil, fmt.Sprintf("Waiting for %s of node %s", what, s.node.Name), nil
		}
		all[t.Name] = value
	}
	return all, "", nil
}
