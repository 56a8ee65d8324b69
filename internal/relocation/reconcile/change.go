package reconcile

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Ref names an object of the cluster.
type Ref struct {
	Group, Version, Kind, Namespace, Name string
}

func (r Ref) gvk() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
}

func (r Ref) String() string {
	if r.Namespace == "" {
		return strings.ToLower(r.Kind) + "/" + r.Name
	}
	return strings.ToLower(r.Kind) + "/" + r.Namespace + "/" + r.Name
}

func (r Ref) newObject() *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(r.gvk())
	o.SetNamespace(r.Namespace)
	o.SetName(r.Name)
	return o
}

// Change is one place of an object and what is to stand there.
type Change struct {
	Ref Ref
	// Path leads to the place; empty for the object as a whole, whose content Want then is.
	Path []string
	// Match picks, in a list at Path, the entry with these values; the rest of the list belongs to others.
	Match map[string]string
	// Want is what is to stand there, as JSON decodes it.
	Want any
	// Labels are given to an object that is created.
	Labels map[string]string
	// Status: the place is in the object's status, which the API server writes apart from the rest.
	Status bool `json:",omitempty"`
	// Final: what stood there before is never wanted back, and the ledger does not keep it.
	Final bool `json:"-"`
	// Optional: a kind that the cluster does not serve, or an object that it does not have, is no error.
	Optional bool
	// Manifest is an object that the API server merges by its fields; the change then says nothing but Ref.
	Manifest *unstructured.Unstructured `json:"-"`
	// fault is why the manifest cannot be applied.
	fault error
}

// placeKey names the place, as the ledger stores it.
func (c Change) placeKey() string {
	text := c.Ref.String() + "#" + strings.Join(c.Path, "/")
	for _, k := range slices.Sorted(maps.Keys(c.Match)) {
		text += "[" + k + "=" + c.Match[k] + "]"
	}
	return text
}

// objectLabels are those of a new object, with the product's own.
func (c Change) objectLabels() map[string]string {
	out := map[string]string{Marker: "true"}
	maps.Copy(out, c.Labels)
	return out
}

// ownsObject says that the change owns the object.
func (c Change) ownsObject() bool { return len(c.Path) == 0 }

// readValue returns what stands at the place, nil for nothing.
func (c Change) readValue(o *unstructured.Unstructured) (any, error) {
	if c.ownsObject() {
		return contentOf(o.Object), nil
	}
	value, found, err := unstructured.NestedFieldNoCopy(o.Object, c.Path...)
	if err != nil || !found {
		return nil, err // it names the path
	}
	if c.Match == nil {
		return value, nil
	}
	list, ok := value.([]any)
	if !ok {
		return nil, fmt.Errorf("%s is not a list", c.placeKey())
	}
	if i := c.entryIndex(list); i >= 0 {
		return list[i], nil
	}
	return nil, nil
}

// entryIndex finds the entry in its list; -1 where there is none.
func (c Change) entryIndex(list []any) int {
	return slices.IndexFunc(list, func(entry any) bool {
		m, ok := entry.(map[string]any)
		if !ok {
			return false
		}
		for k, want := range c.Match {
			if !matchesValue(m[k], want) {
				return false
			}
		}
		return true
	})
}

// matchesValue also finds a value in a list of values: the names of a named certificate.
func matchesValue(have any, want string) bool {
	switch v := have.(type) {
	case string:
		return v == want
	case []any:
		return slices.Contains(v, any(want))
	}
	return false
}

// writeValue puts a value at the place; nil removes what stands there.
func (c Change) writeValue(o *unstructured.Unstructured, value any) error {
	if c.ownsObject() {
		return c.writeWhole(o, value)
	}
	if c.Match == nil {
		if value == nil {
			unstructured.RemoveNestedField(o.Object, c.Path...)
			return nil
		}
		return unstructured.SetNestedField(o.Object, cloneJSON(value), c.Path...) // it names the path
	}
	list, _, err := unstructured.NestedSlice(o.Object, c.Path...)
	if err != nil {
		return err // it names the path
	}
	switch i := c.entryIndex(list); {
	case i >= 0 && value == nil:
		list = slices.Delete(list, i, i+1)
	case i >= 0:
		list[i] = cloneJSON(value)
	case value != nil:
		list = append(list, cloneJSON(value))
	}
	if len(list) == 0 {
		unstructured.RemoveNestedField(o.Object, c.Path...)
		return nil
	}
	return unstructured.SetNestedSlice(o.Object, list, c.Path...) // it names the path
}

// writeWhole replaces the content; what the API server keeps of the object stays.
func (c Change) writeWhole(o *unstructured.Unstructured, value any) error {
	m, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: the content is not an object", c.Ref)
	}
	for k := range contentOf(o.Object) {
		delete(o.Object, k)
	}
	for k, v := range contentOf(m) {
		o.Object[k] = cloneJSON(v)
	}
	return nil
}

// contentOf is an object without what the API server keeps of it.
func contentOf(o map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range o {
		switch k {
		case "apiVersion", "kind", "metadata", "status":
		default:
			out[k] = v
		}
	}
	return out
}

// isAsWanted says whether have is as wanted: fields of an object that want does not name are the API server's defaults.
func isAsWanted(have, want any) bool {
	w, ok := want.(map[string]any)
	if !ok {
		return equalValues(have, want)
	}
	h, ok := have.(map[string]any)
	if !ok {
		return false
	}
	for k, v := range w {
		if !isAsWanted(h[k], v) {
			return false
		}
	}
	return true
}

func equalValues(a, b any) bool {
	if list, ok := b.([]any); ok {
		other, ok := a.([]any)
		if !ok || len(other) != len(list) {
			return false
		}
		for i := range list {
			if !isAsWanted(other[i], list[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(cloneJSON(a), cloneJSON(b))
}

// cloneJSON is a deep copy by way of JSON, so that numbers compare.
func cloneJSON(v any) any {
	data, err := json.Marshal(v)
	if err != nil {
		return v
	}
	var out any
	if json.Unmarshal(data, &out) != nil {
		return v
	}
	return normalizeIntegers(out)
}

// normalizeIntegers turns the whole numbers of decoded JSON into int64, as unstructured objects have them.
func normalizeIntegers(v any) any {
	switch t := v.(type) {
	case float64:
		if t == float64(int64(t)) {
			return int64(t)
		}
	case map[string]any:
		for k := range t {
			t[k] = normalizeIntegers(t[k])
		}
	case []any:
		for i := range t {
			t[i] = normalizeIntegers(t[i])
		}
	}
	return v
}
