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
	maxNodes    = 2_000_000 // after aliases, against documents that unfold
	maxProblems = 20
)

// Shorthand is a struct of which a bare value gives one key.
type Shorthand interface{ ShortKey() string }

// Pruner is a struct that ignores keys because of the value of others: those for which Keeps answers no are
// not looked at.
type Pruner interface {
	Keeps(key string, value func(key string) string) bool
}

// Anything is a part whose inside is not looked into.
type Anything interface {
	SetAny(v any)
}

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
	d := &decoder{}
	d.decodeValue(root, reflect.ValueOf(into).Elem(), "")
	if len(d.problems) > 0 {
		return d.problems
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

type decoder struct {
	problems Problems
	nodes    int
}

func (d *decoder) addProblem(n *yaml.Node, path, format string, args ...any) {
	if len(d.problems) < maxProblems {
		d.problems = append(d.problems, Problem{Line: n.Line, Path: path, Reason: fmt.Sprintf(format, args...)})
	}
}

// decodeValue decodes one node; a null leaves what is there, which is nothing.
func (d *decoder) decodeValue(n *yaml.Node, v reflect.Value, path string) {
	n, ok := d.resolveAlias(n, path)
	if !ok || n.Tag == "!!null" && n.Kind == yaml.ScalarNode {
		return
	}
	if v.Kind() == reflect.Pointer {
		p := reflect.New(v.Type().Elem())
		d.decodeValue(n, p.Elem(), path)
		v.Set(p)
		return
	}
	if a, ok := v.Addr().Interface().(Anything); ok {
		var any any
		if err := n.Decode(&any); err != nil {
			d.addProblem(n, path, "%v", err)
		}
		a.SetAny(any)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.decodeStruct(n, v, path)
	case reflect.Slice:
		d.decodeList(n, v, path)
	case reflect.Map:
		d.decodeMap(n, v, path)
	default:
		d.decodeScalar(n, v, path)
	}
}

// resolveAlias follows aliases and counts, so that a document cannot unfold without end.
func (d *decoder) resolveAlias(n *yaml.Node, path string) (*yaml.Node, bool) {
	if d.nodes++; d.nodes > maxNodes {
		if d.nodes == maxNodes+1 {
			d.addProblem(n, path, "the document has more than %d values", maxNodes)
		}
		return nil, false
	}
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n, true
}

func (d *decoder) decodeStruct(n *yaml.Node, v reflect.Value, path string) {
	if s, ok := v.Interface().(Shorthand); ok && n.Kind == yaml.ScalarNode {
		l := layoutOf(v.Type())
		d.decodeValue(n, v.Field(l.fields[l.byKey[s.ShortKey()]].Index), path)
		return
	}
	if n.Kind != yaml.MappingNode {
		d.addProblem(n, path, "must be a set of keys, not %s", kindOf(n))
		return
	}
	l, seen := layoutOf(v.Type()), map[int]string{}
	pruner, _ := v.Interface().(Pruner)
	for k := 0; k+1 < len(n.Content); k += 2 {
		key, at := n.Content[k].Value, n.Content[k]
		if pruner != nil && !pruner.Keeps(key, func(k string) string { return lookupScalar(n, k) }) {
			continue
		}
		pos, known := l.byKey[key]
		if !known {
			d.addProblem(at, joinPath(path, key), "unknown key%s", suggestKey(key, l.fields))
			continue
		}
		if before, twice := seen[pos]; twice {
			d.addProblem(at, joinPath(path, key), "the key is there already, as %q", before)
			continue
		}
		seen[pos] = key
		d.decodeValue(n.Content[k+1], v.Field(l.fields[pos].Index), joinPath(path, l.fields[pos].Key))
	}
}

func (d *decoder) decodeList(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.SequenceNode {
		d.addProblem(n, path, "must be a list, not %s", kindOf(n))
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for k, item := range n.Content {
		at := fmt.Sprintf("%s[%s]", path, itemLabel(item, k))
		if item.Tag == "!!null" && item.Kind == yaml.ScalarNode {
			d.addProblem(item, at, "is empty")
			continue
		}
		d.decodeValue(item, out.Index(k), at)
	}
	v.Set(out)
}

func (d *decoder) decodeMap(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.MappingNode {
		d.addProblem(n, path, "must be a set of keys, not %s", kindOf(n))
		return
	}
	out := reflect.MakeMap(v.Type())
	for k := 0; k+1 < len(n.Content); k += 2 {
		name := n.Content[k].Value
		if out.MapIndex(reflect.ValueOf(name)).IsValid() {
			d.addProblem(n.Content[k], joinPath(path, name), "the key is there already")
		}
		item := reflect.New(v.Type().Elem()).Elem()
		d.decodeValue(n.Content[k+1], item, joinPath(path, name))
		out.SetMapIndex(reflect.ValueOf(name).Convert(v.Type().Key()), item)
	}
	v.Set(out)
}

func (d *decoder) decodeScalar(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.ScalarNode {
		d.addProblem(n, path, "must be %s, not %s", wantedKind(v), kindOf(n))
		return
	}
	if err := setScalar(strings.TrimSpace(n.Value), n.Value, v); err != nil {
		d.addProblem(n, path, "%v", err)
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
