// Package values puts the values that differ by node into a policy's document: {{ values.NAME }} in any text of it. Captures have a
// syntax of their own and are resolved on the node, by internal/netstate/policy.
//
// Called by the node agent, which fills documents in, and by internal/netpolicy/review, which checks them. It is pure.
package values

import "regexp"

var placeholder = regexp.MustCompile(`\{\{\s*values\.([a-zA-Z][-a-zA-Z0-9_]*)\s*\}\}`)

// Replace replaces the placeholders of a text. A placeholder whose value is not known stays as it is.
func Replace(text string, value func(name string) (string, bool)) string {
	return placeholder.ReplaceAllStringFunc(text, func(match string) string {
		if v, ok := value(placeholder.FindStringSubmatch(match)[1]); ok {
			return v
		}
		return match
	})
}

// Fill replaces the placeholders in all texts of a JSON tree, and returns the tree.
func Fill(tree any, all map[string]string) any {
	switch node := tree.(type) {
	case string:
		return Replace(node, func(name string) (string, bool) {
			v, ok := all[name]
			return v, ok
		})
	case []any:
		for i := range node {
			node[i] = Fill(node[i], all)
		}
	case map[string]any:
		for key := range node {
			node[key] = Fill(node[key], all)
		}
	}
	return tree
}
