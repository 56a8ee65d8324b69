package tree

import (
	"bytes"
	"encoding"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Encode writes a struct as YAML, keys in the order of its fields.
func Encode(v any) ([]byte, error) {
	n, err := valueNode(reflect.ValueOf(v))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(n); err != nil {
		return nil, fmt.Errorf("encode the document: %w", err)
	}
	return out.Bytes(), nil
}

// anyValue is a part that was kept as it was read.
type anyValue interface{ Any() any }

func valueNode(v reflect.Value) (*yaml.Node, error) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
		}
		v = v.Elem()
	}
	if a, ok := v.Interface().(anyValue); ok {
		var n yaml.Node
		err := n.Encode(a.Any())
		return &n, err
	}
	if m, ok := v.Interface().(encoding.TextMarshaler); ok {
		text, err := m.MarshalText()
		return textNode(string(text)), err
	}
	switch v.Kind() {
	case reflect.Struct:
		return structNode(v)
	case reflect.Slice:
		return listNode(v)
	case reflect.Map:
		return mapNode(v)
	case reflect.Bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v.Bool())}, nil
	case reflect.Int:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatInt(v.Int(), 10)}, nil
	case reflect.String:
		return textNode(v.String()), nil
	default:
		return nil, fmt.Errorf("a value of type %s cannot be written", v.Type())
	}
}

// Readers of YAML 1.1 take these for something else than text.
var ambiguous = regexp.MustCompile(`^(?i:y|n|yes|no|on|off)$|^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$`)

func textNode(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if ambiguous.MatchString(s) {
		n.Style = yaml.SingleQuotedStyle
	}
	return n
}

func structNode(v reflect.Value) (*yaml.Node, error) {
	out := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, f := range Fields(v.Type()) {
		value := v.Field(f.Index)
		if f.OmitEmpty && isEmpty(value) || f.OmitZero && value.IsZero() {
			continue
		}
		n, err := valueNode(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Key, err)
		}
		out.Content = append(out.Content, textNode(f.Key), n)
	}
	return out, nil
}

func isEmpty(v reflect.Value) bool {
	if v.Kind() == reflect.Slice || v.Kind() == reflect.Map {
		return v.Len() == 0
	}
	return v.IsZero()
}

func listNode(v reflect.Value) (*yaml.Node, error) {
	out := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for k := range v.Len() {
		n, err := valueNode(v.Index(k))
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", k, err)
		}
		out.Content = append(out.Content, n)
	}
	return out, nil
}

func mapNode(v reflect.Value) (*yaml.Node, error) {
	out := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	keys := make([]string, 0, v.Len())
	for _, k := range v.MapKeys() {
		keys = append(keys, k.String())
	}
	slices.Sort(keys)
	for _, k := range keys {
		n, err := valueNode(v.MapIndex(reflect.ValueOf(k)))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k, err)
		}
		if number.MatchString(n.Value) && v.Type().Elem().Kind() == reflect.String {
			n.Tag = "!!int" // an option of the kernel, read as text and written as what it is
		}
		out.Content = append(out.Content, textNode(k), n)
	}
	return out, nil
}

var number = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,17})$`)

// formatFlow writes a node on one line.
func formatFlow(n *yaml.Node) string {
	var parts []string
	switch n.Kind {
	case yaml.MappingNode:
		for k := 0; k+1 < len(n.Content); k += 2 {
			parts = append(parts, n.Content[k].Value+": "+formatFlow(n.Content[k+1]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case yaml.SequenceNode:
		for _, item := range n.Content {
			parts = append(parts, formatFlow(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	default:
		if n.Value == "" {
			return `""`
		}
		return n.Value
	}
}
