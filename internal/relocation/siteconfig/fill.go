package siteconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

var (
	rawType     = reflect.TypeFor[json.RawMessage]()
	networkType = reflect.TypeFor[netstate.Document]()
	secretType  = reflect.TypeFor[Secret]()
)

// fill sets the fields of a struct from a YAML mapping. Unlike a decoder it goes on after a mistake, names each by its
// path, and never shows a secret. The keys are those of the fields' json tags.
func fill(into any, n *yaml.Node) []Problem {
	f := &filler{}
	f.value(reflect.ValueOf(into).Elem(), n, "")
	return f.problems
}

type filler struct{ problems []Problem }

func (f *filler) add(key string, n *yaml.Node, secret bool, want string) {
	p := Problem{Key: key, Value: shown(n), Want: want}
	if secret {
		p.Value = hidden
	}
	f.problems = append(f.problems, p)
}

func (f *filler) value(v reflect.Value, n *yaml.Node, path string) {
	if n.Tag == "!!null" {
		return // as if it were left out
	}
	switch v.Type() {
	case rawType:
		f.raw(v, n, path)
		return
	case networkType:
		f.network(v, n, path)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.value(v.Elem(), n, path)
	case reflect.Struct:
		f.object(v, n, path)
	case reflect.Slice:
		f.list(v, n, path)
	case reflect.Map:
		f.labels(v, n, path)
	default:
		f.scalar(v, n, path)
	}
}

func (f *filler) object(v reflect.Value, n *yaml.Node, path string) {
	fields := fieldsOf(v.Type())
	f.pairs(n, path, func(key string, k, value *yaml.Node) {
		i, ok := fields[key]
		if !ok {
			f.unknown(path, key, k, fields)
			return
		}
		f.value(v.Field(i), value, join(path, key))
	})
}

// pairs calls fn for each key, once.
func (f *filler) pairs(n *yaml.Node, path string, fn func(key string, k, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		f.add(path, n, false, "must be a group of keys with values, each on a line of its own and indented")
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode {
			f.add(path, k, false, "a key must be a word")
			continue
		}
		if seen[k.Value] {
			f.add(join(path, k.Value), k, false, "appears twice; keep one")
			continue
		}
		seen[k.Value] = true
		fn(k.Value, k, n.Content[i+1])
	}
}

func (f *filler) unknown(path, key string, k *yaml.Node, fields map[string]int) {
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	want := "is not a known key; known here: " + strings.Join(names, ", ")
	if near := nearest(key, names); near != "" {
		want = "is not a known key; did you mean " + near + "?"
	}
	f.problems = append(f.problems, Problem{Key: join(path, shorten(k.Value)), Want: want})
}

func (f *filler) list(v reflect.Value, n *yaml.Node, path string) {
	if n.Kind != yaml.SequenceNode {
		f.add(path, n, v.Type().Elem() == secretType, "must be a list; write each entry on a line of its own that begins with a hyphen")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, c := range n.Content {
		at := fmt.Sprintf("%s[%d]", path, i)
		if c.Tag == "!!null" {
			f.add(at, c, false, "is empty; write a value or remove the line")
			continue
		}
		f.value(v.Index(i), c, at)
	}
}

// labels fills the only kind of map there is, of strings.
func (f *filler) labels(v reflect.Value, n *yaml.Node, path string) {
	v.Set(reflect.MakeMap(v.Type()))
	f.pairs(n, path, func(key string, _, value *yaml.Node) {
		element := reflect.New(v.Type().Elem()).Elem()
		f.value(element, value, join(path, key))
		v.SetMapIndex(reflect.ValueOf(key), element)
	})
}

// scalar takes the characters as they stand for a text: 007 and yes are what was written, not a number or a truth.
func (f *filler) scalar(v reflect.Value, n *yaml.Node, path string) {
	secret := v.Type() == secretType
	if secret && n.Kind == yaml.MappingNode {
		f.pastedJSON(v, n, path)
		return
	}
	if n.Kind != yaml.ScalarNode {
		f.add(path, n, secret, "must be a single value, not a list or a group")
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		b, err := strconv.ParseBool(n.Value)
		if err != nil || n.Tag != "!!bool" {
			f.add(path, n, secret, "must be true or false, without quotes")
		}
		v.SetBool(b)
	case reflect.Int:
		i, err := strconv.Atoi(n.Value)
		if err != nil {
			f.add(path, n, secret, "must be a whole number")
		}
		v.SetInt(int64(i))
	default:
		v.SetString(n.Value)
	}
}

// pastedJSON takes a JSON text that was pasted without quotes, as pull secrets are: to YAML it is an object.
func (f *filler) pastedJSON(v reflect.Value, n *yaml.Node, path string) {
	var data json.RawMessage
	f.raw(reflect.ValueOf(&data).Elem(), n, path)
	v.SetString(string(data))
}

// raw takes any object as JSON.
func (f *filler) raw(v reflect.Value, n *yaml.Node, path string) {
	if n.Kind != yaml.MappingNode {
		f.add(path, n, false, "must be an object")
		return
	}
	var any map[string]any
	if err := n.Decode(&any); err != nil {
		f.problems = append(f.problems, Problem{Key: path, Want: "is not an object: " + yamlReason(err)})
		return
	}
	data, err := json.Marshal(any)
	if err != nil {
		f.problems = append(f.problems, Problem{Key: path, Want: "is not an object that JSON can express: " + err.Error()})
		return
	}
	v.SetBytes(data)
}

// network leaves the document to the package that knows its format. A text is read as a document, too.
func (f *filler) network(v reflect.Value, n *yaml.Node, path string) {
	text := []byte(n.Value)
	if n.Kind == yaml.SequenceNode {
		f.add(path, n, false, "must be one nmstate document, with interfaces, routes and dns-resolver, not a list")
		return
	}
	if n.Kind != yaml.ScalarNode {
		var err error
		if text, err = yaml.Marshal(n); err != nil {
			f.problems = append(f.problems, Problem{Key: path, Want: "cannot be read: " + yamlReason(err)})
			return
		}
	}
	doc, err := netstate.Decode(text)
	var found tree.Problems
	if errors.As(err, &found) { // their lines are of the part, those of the file follow from the keys
		for _, p := range found {
			f.problems = append(f.problems, Problem{Key: within(path, p.Path), Want: oneLine(p.Reason)})
		}
		return
	}
	if err != nil {
		f.problems = append(f.problems, Problem{Key: path, Want: "is not an nmstate document: " + oneLine(err.Error())})
		return
	}
	v.Set(reflect.ValueOf(doc))
}

func yamlReason(err error) string { return oneLine(strings.TrimPrefix(err.Error(), "yaml: ")) }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// fieldsOf maps the json names of a struct to its fields; one without a tag goes by its Go name.
func fieldsOf(t reflect.Type) map[string]int {
	out := make(map[string]int, t.NumField())
	for i := range t.NumField() {
		out[jsonName(t.Field(i))] = i
	}
	return out
}

func jsonName(f reflect.StructField) string {
	if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
		return name
	}
	return f.Name
}

// within is join, where the key may be empty: the path itself.
func within(path, key string) string { return strings.TrimSuffix(join(path, key), ".") }

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
