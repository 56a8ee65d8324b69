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

// fillFields sets the fields of a struct from a YAML mapping. Unlike a decoder it goes on after a mistake, names each by its
// path, and never shows a secret. The keys are those of the fields' json tags.
func fillFields(into any, n *yaml.Node) []Problem {
	f := &filler{}
	f.fillValue(reflect.ValueOf(into).Elem(), n, "")
	return f.problems
}

type filler struct{ problems []Problem }

func (f *filler) addProblem(key string, n *yaml.Node, secret bool, want string) {
	p := Problem{Key: key, Value: describeNode(n), Want: want}
	if secret {
		p.Value = hidden
	}
	f.problems = append(f.problems, p)
}

func (f *filler) fillValue(v reflect.Value, n *yaml.Node, path string) {
	if n.Tag == "!!null" {
		return // as if it were left out
	}
	switch v.Type() {
	case rawType:
		f.fillRawJSON(v, n, path)
		return
	case networkType:
		f.fillNetwork(v, n, path)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fillValue(v.Elem(), n, path)
	case reflect.Struct:
		f.fillObject(v, n, path)
	case reflect.Slice:
		f.fillList(v, n, path)
	case reflect.Map:
		f.fillMap(v, n, path)
	default:
		f.fillScalar(v, n, path)
	}
}

func (f *filler) fillObject(v reflect.Value, n *yaml.Node, path string) {
	fields := fieldsOf(v.Type())
	f.eachPair(n, path, func(key string, k, value *yaml.Node) {
		i, ok := fields[key]
		if !ok {
			f.addUnknownKey(path, key, k, fields)
			return
		}
		f.fillValue(v.Field(i), value, joinKey(path, key))
	})
}

// eachPair calls fn for each key, once.
func (f *filler) eachPair(n *yaml.Node, path string, fn func(key string, k, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		f.addProblem(path, n, false, "must be a group of keys with values, each on a line of its own and indented")
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode {
			f.addProblem(path, k, false, "a key must be a word")
			continue
		}
		if seen[k.Value] {
			f.addProblem(joinKey(path, k.Value), k, false, "appears twice; keep one")
			continue
		}
		seen[k.Value] = true
		fn(k.Value, k, n.Content[i+1])
	}
}

func (f *filler) addUnknownKey(path, key string, k *yaml.Node, fields map[string]int) {
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	want := "is not a known key; known here: " + strings.Join(names, ", ")
	if near := nearestName(key, names); near != "" {
		want = "is not a known key; did you mean " + near + "?"
	}
	f.problems = append(f.problems, Problem{Key: joinKey(path, shortenValue(k.Value)), Want: want})
}

func (f *filler) fillList(v reflect.Value, n *yaml.Node, path string) {
	if n.Kind != yaml.SequenceNode {
		f.addProblem(path, n, v.Type().Elem() == secretType,
			"must be a list; write each entry on a line of its own that begins with a hyphen")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, c := range n.Content {
		at := fmt.Sprintf("%s[%d]", path, i)
		if c.Tag == "!!null" {
			f.addProblem(at, c, false, "is empty; write a value or remove the line")
			continue
		}
		f.fillValue(v.Index(i), c, at)
	}
}

// fillMap fills the only kind of map there is, of strings.
func (f *filler) fillMap(v reflect.Value, n *yaml.Node, path string) {
	v.Set(reflect.MakeMap(v.Type()))
	f.eachPair(n, path, func(key string, _, value *yaml.Node) {
		element := reflect.New(v.Type().Elem()).Elem()
		f.fillValue(element, value, joinKey(path, key))
		v.SetMapIndex(reflect.ValueOf(key), element)
	})
}

// fillScalar takes the characters as they stand for a text: 007 and yes are what was written, not a number or a truth.
func (f *filler) fillScalar(v reflect.Value, n *yaml.Node, path string) {
	secret := v.Type() == secretType
	if secret && n.Kind == yaml.MappingNode {
		f.fillPastedJSON(v, n, path)
		return
	}
	if n.Kind != yaml.ScalarNode {
		f.addProblem(path, n, secret, "must be a single value, not a list or a group")
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		b, err := strconv.ParseBool(n.Value)
		if err != nil || n.Tag != "!!bool" {
			f.addProblem(path, n, secret, "must be true or false, without quotes")
		}
		v.SetBool(b)
	case reflect.Int:
		i, err := strconv.Atoi(n.Value)
		if err != nil {
			f.addProblem(path, n, secret, "must be a whole number")
		}
		v.SetInt(int64(i))
	default:
		v.SetString(n.Value)
	}
}

// fillPastedJSON takes a JSON text that was pasted without quotes, as pull secrets are: to YAML it is an object.
func (f *filler) fillPastedJSON(v reflect.Value, n *yaml.Node, path string) {
	var data json.RawMessage
	f.fillRawJSON(reflect.ValueOf(&data).Elem(), n, path)
	v.SetString(string(data))
}

// fillRawJSON takes any object as JSON.
func (f *filler) fillRawJSON(v reflect.Value, n *yaml.Node, path string) {
	if n.Kind != yaml.MappingNode {
		f.addProblem(path, n, false, "must be an object")
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

// fillNetwork leaves the document to the package that knows its format. A text is read as a document, too.
func (f *filler) fillNetwork(v reflect.Value, n *yaml.Node, path string) {
	text := []byte(n.Value)
	if n.Kind == yaml.SequenceNode {
		f.addProblem(path, n, false, "must be one nmstate document, with interfaces, routes and dns-resolver, not a list")
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
			f.problems = append(f.problems, Problem{Key: joinOptional(path, p.Path), Want: oneLine(p.Reason)})
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

// joinOptional is join, where the key may be empty: the path itself.
func joinOptional(path, key string) string { return strings.TrimSuffix(joinKey(path, key), ".") }

func joinKey(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
