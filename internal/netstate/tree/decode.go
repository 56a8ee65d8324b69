package tree

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Limits of a document. They are far above what a node can have and below what would hurt the reader.
const (
	MaxBytes    = 8 << 20
	maxProblems = 20
)

// Decode reads one YAML or JSON document into a pointer to a struct. Numbers and booleans may come as strings,
// as they do from templates. What it cannot place is refused, all of it, as Problems.
func Decode(data []byte, into any) error {
	if len(data) > MaxBytes {
		return Problems{{Reason: fmt.Sprintf("the document has %d bytes, and %d are the most that is read", len(data), MaxBytes)}}
	}
	// Pasted text brings no-break spaces, which YAML takes for letters.
	data = bytes.ReplaceAll(data, []byte("\u00a0"), []byte(" "))
	root, err := parseYAML(data)
	if err != nil || root == nil {
		return err
	}
	f := &lenient{}
	Fill(into, root, f)
	if len(f.problems) > 0 {
		return f.problems
	}
	return nil
}

func parseYAML(data []byte) (*yaml.Node, error) {
	var doc, second yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, Problems{{Reason: "not YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}}
	}
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, Problems{{Reason: "there is more than one YAML document; give them one by one"}}
	}
	return doc.Content[0], nil
}

// Anything is a part whose inside is not looked into.
type Anything interface {
	SetAny(v any)
}

// lenient is the Format of Decode.
type lenient struct{ problems Problems }

func (f *lenient) ReadValue(n *yaml.Node, v reflect.Value, path string) bool {
	a, ok := v.Addr().Interface().(Anything)
	if !ok {
		return false
	}
	var any any
	if err := n.Decode(&any); err != nil {
		f.Refuse(Refusal{Mistake: BadValue, At: n, Path: path, Into: v.Type(), Err: err})
	}
	a.SetAny(any)
	return true
}

func (f *lenient) ReadScalar(n *yaml.Node, v reflect.Value) error {
	return setScalar(strings.TrimSpace(n.Value), n.Value, v)
}

// LabelItem names an item by its name if it has one.
func (f *lenient) LabelItem(item *yaml.Node, index int) string {
	for item.Kind == yaml.AliasNode {
		item = item.Alias
	}
	if name := Scalar(item, "name"); name != "" && len(name) <= 64 && !strings.ContainsAny(name, "[]\n") {
		return name
	}
	return strconv.Itoa(index)
}

func (f *lenient) Refuse(r Refusal) {
	if len(f.problems) < maxProblems {
		f.problems = append(f.problems, Problem{Line: r.At.Line, Path: r.Path, Reason: r.formatReason()})
	}
}

func setScalar(text, raw string, v reflect.Value) error {
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(raw)
		return nil
	case reflect.Bool:
		b, err := parseBool(text)
		v.SetBool(b)
		return err
	case reflect.Int:
		i, err := strconv.ParseInt(text, 0, 64)
		if err != nil || i > 1<<32-1 || i < -(1<<31) {
			return fmt.Errorf("%q is not a whole number of 32 bits", truncateText(text))
		}
		v.SetInt(i)
		return nil
	default:
		return fmt.Errorf("a value of this kind cannot be read")
	}
}

func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "yes", "on", "y", "1":
		return true, nil
	case "false", "no", "off", "n", "0":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", truncateText(text))
}
