package netenactment

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"

	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
)

// placeholder refers to a template value. Captures have a syntax of their own and are resolved on the node.
var placeholder = regexp.MustCompile(`\{\{\s*values\.([a-zA-Z][-a-zA-Z0-9_]*)\s*\}\}`)

// values are the policy's template values on this node: labels and annotations of the Node, and the addresses that the
// operator claimed. missing names the one that the node waits for.
func values(s *scene, v *view) (all map[string]string, missing string, err error) {
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

// fill replaces placeholders in all strings of a JSON tree. What no value has the name of stays, and is refused as it stands.
func fill(tree any, values map[string]string) any {
	switch node := tree.(type) {
	case string:
		return placeholder.ReplaceAllStringFunc(node, func(match string) string {
			if value, ok := values[placeholder.FindStringSubmatch(match)[1]]; ok {
				return value
			}
			return match
		})
	case []any:
		for i := range node {
			node[i] = fill(node[i], values)
		}
	case map[string]any:
		for key := range node {
			node[key] = fill(node[key], values)
		}
	}
	return tree
}
