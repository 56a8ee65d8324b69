package siteconfig

import (
	"encoding/json"
	"errors"
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

// fillFields sets the fields of a struct from a YAML mapping, by their json tags. It goes on after a mistake, names each by its
// path, and never shows a secret.
func fillFields(into any, n *yaml.Node) []Problem {
	f := &filler{}
	tree.Fill(into, n, f)
	return f.problems
}

// filler is the tree.Format of a file of a site.
type filler struct{ problems []Problem }

func (f *filler) addProblem(key string, n *yaml.Node, secret bool, want string) {
	p := Problem{Key: key, Line: n.Line, Value: describeNode(n), Want: want}
	if secret {
		p.Value = hidden
	}
	f.problems = append(f.problems, p)
}

// ReadValue reads objects that are passed on, the network document, and secrets that were pasted without quotes.
func (f *filler) ReadValue(n *yaml.Node, v reflect.Value, path string) bool {
	switch {
	case v.Type() == rawType:
		f.fillRawJSON(v, n, path)
	case v.Type() == networkType:
		f.fillNetwork(v, n, path)
	case v.Type() == secretType && n.Kind == yaml.MappingNode:
		f.fillPastedJSON(v, n, path)
	default:
		return false
	}
	return true
}

// ReadScalar takes the characters as they stand for a text: 007 and yes are what was written, not a number or a truth.
func (f *filler) ReadScalar(n *yaml.Node, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Bool:
		b, err := strconv.ParseBool(n.Value)
		if err != nil || n.Tag != "!!bool" {
			return errors.New("must be true or false, without quotes")
		}
		v.SetBool(b)
	case reflect.Int:
		i, err := strconv.Atoi(n.Value)
		if err != nil {
			return errors.New("must be a whole number")
		}
		v.SetInt(int64(i))
	default:
		v.SetString(n.Value)
	}
	return nil
}

// LabelItem counts: the files of sites have few lists with names.
func (f *filler) LabelItem(_ *yaml.Node, index int) string { return strconv.Itoa(index) }

// Refuse says what to write instead, for a person who does not know YAML.
func (f *filler) Refuse(r tree.Refusal) {
	secret := r.Into == secretType || r.Into.Kind() == reflect.Slice && r.Into.Elem() == secretType
	switch r.Mistake {
	case tree.UnknownKey:
		p := Problem{Key: r.Path, Line: r.At.Line, Want: wantKnownKey(r.Key, r.Known)}
		if shortenValue(r.Key) == hidden {
			p.Key = hidden
		}
		f.problems = append(f.problems, p)
	case tree.BadValue:
		f.addProblem(r.Path, r.At, secret, r.Err.Error())
	default:
		f.addProblem(r.Path, r.At, secret && r.Mistake != tree.EmptyItem, wants[r.Mistake])
	}
}

var wants = map[tree.Mistake]string{
	tree.NotKeys:   "must be a group of keys with values, each on a line of its own and indented",
	tree.NotList:   "must be a list; write each entry on a line of its own that begins with a hyphen",
	tree.NotScalar: "must be a single value, not a list or a group",
	tree.KeyTwice:  "appears twice; keep one",
	tree.KeyNoWord: "a key must be a word",
	tree.EmptyItem: "is empty; write a value or remove the line",
}

func wantKnownKey(key string, known []tree.Field) string {
	names := make([]string, len(known))
	for i, field := range known {
		names[i] = field.Key
	}
	if near := tree.Nearest(key, names); near != "" {
		return "is not a known key; did you mean " + near + "?"
	}
	slices.Sort(names)
	return "is not a known key; known here: " + strings.Join(names, ", ")
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

// joinOptional is join, where the key may be empty: the path itself.
func joinOptional(path, key string) string { return strings.TrimSuffix(joinKey(path, key), ".") }

func joinKey(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
