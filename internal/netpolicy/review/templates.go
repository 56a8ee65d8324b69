package review

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/values"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/policy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

// entries are the parts of a document that hold a template: items of its lists, or whole keys.
type entries struct {
	keys  map[string]bool
	items map[string]map[int]bool
}

// lists are the keys whose items are judged one by one, as key or key.config.
var lists = []string{"interfaces", "routes.config", "route-rules.config"}

// checkTemplates checks every template, removes the values that have one, and says in which entries they were.
func (r *reviewer) checkTemplates(document map[string]any) *entries {
	found := &entries{keys: map[string]bool{}, items: map[string]map[int]bool{}}
	known := knownValues(r.spec)
	for _, key := range slices.Sorted(maps.Keys(document)) {
		name, items := listAt(document, key)
		if items == nil {
			if kept, has := r.pruneTemplates(document[key], tree.Join(desiredState, key), known); has {
				document[key], found.keys[key] = kept, true
			}
			continue
		}
		found.items[name] = map[int]bool{}
		for n, item := range items {
			kept, has := r.pruneTemplates(item, fmt.Sprintf("%s.%s[%s]", desiredState, name, itemLabel(item, n)), known)
			if has {
				items[n], found.items[name][n] = kept, true
			}
		}
	}
	return found
}

// listAt is the list at a key of the document, and its name; nil where the key has none whose items are judged one by one.
func listAt(document map[string]any, key string) (name string, items []any) {
	for _, name := range lists {
		top, inner, nested := strings.Cut(name, ".")
		if top != key {
			continue
		}
		value := document[key]
		if nested {
			part, _ := value.(map[string]any)
			value = part[inner]
		}
		items, _ := value.([]any)
		return name, items
	}
	return "", nil
}

// removeFrom takes out the entries with templates.
func (e *entries) removeFrom(document map[string]any) {
	maps.DeleteFunc(document, func(key string, _ any) bool { return e.keys[key] })
	for name, which := range e.items {
		key, inner, nested := strings.Cut(name, ".")
		_, all := listAt(document, key)
		kept := make([]any, 0, len(all))
		for n := range all {
			if !which[n] {
				kept = append(kept, all[n])
			}
		}
		if nested {
			document[key].(map[string]any)[inner] = kept
		} else {
			document[key] = kept
		}
	}
}

// knownValues are the names of the values that a node will have.
func knownValues(spec *nmstatev1.NodeNetworkConfigurationPolicySpec) map[string]bool {
	all := map[string]bool{}
	for _, v := range spec.TemplateValues {
		all[v.Name] = true
		if v.Address != nil {
			all[v.Name+"-prefix"], all[v.Name+"-gateway"] = true, true
		}
	}
	return all
}

// pruneTemplates returns a value without the texts that have a template, and whether there was one.
func (r *reviewer) pruneTemplates(value any, path string, known map[string]bool) (kept any, has bool) {
	switch v := value.(type) {
	case string:
		if r.checkTemplate(v, path, known) {
			return nil, true
		}
	case []any:
		for n := range v {
			k, h := r.pruneTemplates(v[n], fmt.Sprintf("%s[%s]", path, itemLabel(v[n], n)), known)
			v[n], has = k, has || h
		}
		if has {
			v = slices.DeleteFunc(v, func(item any) bool { return item == nil })
		}
		return v, has
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if strings.Contains(key, "{{") {
				r.addProblem(path, fmt.Sprintf("%.64q: a key cannot be a template", key))
			}
			k, h := r.pruneTemplates(v[key], tree.Join(path, key), known)
			if has = has || h; k == nil && h {
				if delete(v, key); key == "state" {
					return map[string]any{"name": v["name"]}, true // an absent entry may say anything
				}
				continue
			}
			v[key] = k
		}
		return v, has
	}
	return value, false
}

// checkTemplate checks the templates of a text, and reports whether it has any.
func (r *reviewer) checkTemplate(text, path string, known map[string]bool) bool {
	rest := values.Replace(text, func(name string) (string, bool) {
		if !known[name] {
			r.addProblem(path, fmt.Sprintf("spec.templateValues has no value %.64q", name))
		}
		return "", true
	})
	has, err := policy.CheckText(rest, r.spec.Capture)
	var at *policy.Error
	if errors.As(err, &at) {
		r.addProblem(path, at.Reason)
	}
	return has || rest != text
}

// itemLabel is how a path names an item of a list: by its name if it has one.
func itemLabel(item any, index int) string {
	if keys, ok := item.(map[string]any); ok {
		if name, _ := keys["name"].(string); name != "" && len(name) <= 64 && !strings.ContainsAny(name, "[]\n") {
			return name
		}
	}
	return strconv.Itoa(index)
}
