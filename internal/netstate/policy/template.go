package policy

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

// template is one {{ ... }} in a text: the bytes from and to, and the path inside.
type template struct {
	from, to int
	path     string
}

func findTemplates(n *yaml.Node) []template {
	if n.Kind != yaml.ScalarNode {
		return nil
	}
	var out []template
	for at := 0; ; {
		start := strings.Index(n.Value[at:], "{{")
		if start < 0 {
			return out
		}
		start += at
		end := strings.Index(n.Value[start:], "}}")
		if end < 0 {
			return append(out, template{start, -1, ""})
		}
		at = start + end + 2
		out = append(out, template{start, at, strings.TrimSpace(n.Value[start+2 : at-2])})
	}
}

// fillTemplates replaces the templates of a desired state.
func (e *evaluation) fillTemplates(desired []byte) ([]byte, error) {
	if len(desired) > tree.MaxBytes {
		return nil, fmt.Errorf("the desired state has %d bytes, and %d are the most that is read", len(desired), tree.MaxBytes)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(bytes.ReplaceAll(desired, []byte("\u00a0"), []byte(" ")), &root); err != nil {
		return nil, fmt.Errorf("desiredState is not YAML: %w", err)
	}
	if err := e.walkValues(&root, e.fillNode); err != nil {
		return nil, err
	}
	return yaml.Marshal(&root)
}

// walkValues visits the values of a state; keys with a template in them are refused.
func (e *evaluation) walkValues(n *yaml.Node, visit func(*yaml.Node) error) error {
	for k, child := range n.Content {
		if n.Kind == yaml.MappingNode && k%2 == 0 {
			if len(findTemplates(child)) > 0 {
				return &Error{Where: "desiredState", Line: child.Line, Column: child.Column, Reason: "a key cannot be a template"}
			}
			continue
		}
		if err := e.walkValues(child, visit); err != nil {
			return err
		}
	}
	if n.Kind == yaml.ScalarNode {
		return visit(n)
	}
	return nil
}

func (e *evaluation) fillNode(n *yaml.Node) error {
	all := findTemplates(n)
	if len(all) == 0 {
		return nil
	}
	if len(all) == 1 && all[0].to == len(strings.TrimRight(n.Value, " \n")) && strings.TrimSpace(n.Value[:all[0].from]) == "" {
		v, err := e.resolveReference(all[0], n)
		if err != nil {
			return err
		}
		line, column := n.Line, n.Column
		if err := n.Encode(v); err != nil {
			return fmt.Errorf("encode the value: %w", err)
		}
		n.Line, n.Column = line, column
		return nil
	}
	var out strings.Builder
	at := 0
	for _, t := range all {
		v, err := e.resolveReference(t, n)
		if err != nil {
			return err
		}
		if !isScalar(v) {
			return e.templateError(n, fmt.Sprintf("%s is not a plain value and cannot stand within a text", t.path))
		}
		fmt.Fprintf(&out, "%s%v", n.Value[at:t.from], v)
		at = t.to
	}
	n.SetString(out.String() + n.Value[at:])
	return nil
}

func (e *evaluation) templateError(n *yaml.Node, reason string) error {
	return &Error{Where: "desiredState", Line: n.Line, Column: n.Column, Reason: reason}
}

func (e *evaluation) resolveReference(t template, n *yaml.Node) (any, error) {
	if t.to < 0 {
		return nil, e.templateError(n, "a template that begins with {{ has no end")
	}
	p, err := pathOf(token{text: t.path, line: n.Line, column: n.Column + t.from})
	if err != nil {
		return nil, e.inDesiredState(err)
	}
	v, err := e.lookupPath(p)
	return v, e.inDesiredState(err)
}

func (*evaluation) inDesiredState(err error) error {
	var at *Error
	if errors.As(err, &at) {
		at.Where = "desiredState"
	}
	return err
}

// checkTemplate checks the name of a template's capture.
func (e *evaluation) checkTemplate(t template, n *yaml.Node, captures map[string]string) error {
	if t.to < 0 {
		return e.templateError(n, "a template that begins with {{ has no end")
	}
	p, err := pathOf(token{text: t.path, line: n.Line, column: n.Column + t.from})
	if err != nil {
		return e.inDesiredState(err)
	}
	name, ok := p.captureName()
	if _, known := captures[name]; !ok || !known {
		return e.templateError(n, fmt.Sprintf("%q does not begin with the name of a capture of this policy, as capture.NAME", t.path))
	}
	return nil
}
