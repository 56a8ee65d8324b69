// Package policy evaluates what nmstate calls a policy: captures, which select parts of a node's current state, and a
// desired state whose values may refer to them as {{ capture.NAME.path }}. lca-cli and the enactment of policies on a
// node call it; it does no I/O and imports netstate and a YAML parser.
//
// Language: https://nmstate.io/nmpolicy; what of it is understood is at Parse.
package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/topo"
)

// Limits of a policy.
const (
	// MaxCaptures is the most that a policy may have.
	MaxCaptures   = 100
	maxExpression = 4096
)

// Policy is a desired state in terms of what a node has.
type Policy struct {
	// Captures are expressions by name.
	Captures map[string]string
	// Desired is the desired state, YAML or JSON.
	Desired []byte
}

// Result is a policy for one node.
type Result struct {
	// Desired is the document without templates. With captures it holds only what differs from the current state, for
	// what was captured says much that nobody wants to change.
	Desired netstate.Document
	// Captured are the selected states, YAML, by the name of the capture.
	Captured map[string]string
}

// Error is a fault of an expression or a template.
type Error struct {
	// Where is "capture NAME" or "desiredState".
	Where string
	// Line and Column are counted from 1, within the expression or within the desired state.
	Line, Column int
	Reason       string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s, line %d, column %d: %s", e.Where, e.Line, e.Column, e.Reason)
}

// Resolve evaluates the captures over the current state and fills the templates in. Captures named in cached have been
// evaluated before, and that is what they mean from then on: once the bridge that a policy builds has taken the default
// route, "the interface of the default route" must still be the card. Errors of the language are *Error.
func Resolve(p Policy, current netstate.Document, cached map[string]string) (Result, error) {
	if len(p.Captures) == 0 {
		d, err := netstate.Decode(p.Desired)
		return Result{Desired: d}, err
	}
	if len(p.Captures) > MaxCaptures {
		return Result{}, fmt.Errorf("a policy has at most %d captures, not %d", MaxCaptures, len(p.Captures))
	}
	e := &evaluation{captured: map[string]any{}, parsed: map[string]Expression{}}
	if err := e.loadState(current); err != nil {
		return Result{}, err
	}
	if err := e.evaluateCaptures(p.Captures, cached); err != nil {
		return Result{}, err
	}
	desired, err := e.fillTemplates(p.Desired)
	if err != nil {
		return Result{}, err
	}
	out := Result{Captured: map[string]string{}}
	if out.Desired, err = netstate.Decode(desired); err != nil {
		return Result{}, fmt.Errorf("the desired state with the captures filled in: %w", err)
	}
	out.Desired = netstate.Diff(current, out.Desired)
	for name, state := range e.captured {
		text, err := yaml.Marshal(state)
		if err != nil {
			return Result{}, fmt.Errorf("encode what capture %s selected: %w", name, err)
		}
		out.Captured[name] = string(text)
	}
	return out, nil
}

// Check reads a policy without a node: the expressions, what they refer to, and the place of templates.
func Check(p Policy) error {
	e := &evaluation{captured: map[string]any{}, parsed: map[string]Expression{}}
	if _, err := e.orderCaptures(p.Captures, nil); err != nil {
		return err
	}
	var root yaml.Node
	if err := yaml.Unmarshal(p.Desired, &root); err != nil {
		return fmt.Errorf("desiredState is not YAML: %w", err)
	}
	return e.walkValues(&root, func(n *yaml.Node) error {
		for _, t := range findTemplates(n) {
			if err := e.checkTemplate(t, n, p.Captures); err != nil {
				return err
			}
		}
		return nil
	})
}

// CheckText reads the templates of one text of a desired state: found says that it has some, and the error, which is *Error, what is
// wrong with the first that cannot be filled in.
func CheckText(text string, captures map[string]string) (found bool, err error) {
	e, n := &evaluation{}, &yaml.Node{Kind: yaml.ScalarNode, Value: text, Line: 1, Column: 1}
	for _, t := range findTemplates(n) {
		if err := e.checkTemplate(t, n, captures); err != nil {
			return true, err
		}
		found = true
	}
	return found, nil
}

type evaluation struct {
	current  any
	captured map[string]any
	parsed   map[string]Expression
}

func (e *evaluation) loadState(current netstate.Document) error {
	text, err := current.Encode()
	if err != nil {
		return fmt.Errorf("encode the state: %w", err)
	}
	return yaml.Unmarshal(text, &e.current)
}

func (e *evaluation) evaluateCaptures(all, cached map[string]string) error {
	order, err := e.orderCaptures(all, cached)
	if err != nil {
		return err
	}
	for _, name := range order {
		if text, ok := cached[name]; ok {
			var state any
			if err := yaml.Unmarshal([]byte(text), &state); err != nil {
				return fmt.Errorf("what capture %s selected before is not YAML: %w", name, err)
			}
			e.captured[name] = state
			continue
		}
		state, err := e.evaluateExpression(name, e.parsed[name])
		if err != nil {
			return err
		}
		e.captured[name] = state
	}
	return nil
}

// orderCaptures parses the captures and puts each after those it refers to.
func (e *evaluation) orderCaptures(all, cached map[string]string) ([]string, error) {
	names := slices.Sorted(maps.Keys(all))
	for _, name := range names {
		if !validName(name) {
			return nil, &Error{Where: "capture " + fmt.Sprintf("%.40q", name), Line: 1, Column: 1,
				Reason: "a name consists of letters, digits, '-' and '_'"}
		}
		if _, known := cached[name]; known {
			continue // what it says plays no part any more
		}
		x, err := Parse(all[name])
		if err != nil {
			return nil, inCapture(name, err)
		}
		for _, ref := range x.referencedCaptures() {
			if _, ok := all[ref.name]; !ok {
				return nil, inCapture(
					name,
					&Error{Line: ref.line, Column: ref.column, Reason: fmt.Sprintf("there is no capture %q", ref.name)},
				)
			}
		}
		e.parsed[name] = x
	}
	order, err := topo.Sort(names, func(n string) []string {
		var needs []string
		for _, r := range e.parsed[n].referencedCaptures() {
			needs = append(needs, r.name)
		}
		return needs
	})
	var loop *topo.CycleError
	if errors.As(err, &loop) {
		return nil, &Error{Where: "capture " + loop.Chain[0], Line: 1, Column: 1,
			Reason: "captures that need each other have no value: " + strings.Join(loop.Chain, " -> ")}
	}
	return order, err
}

// inCapture says which capture an error is in.
func inCapture(name string, err error) error {
	var at *Error
	if errors.As(err, &at) {
		at.Where = "capture " + name
	}
	return err
}

func validName(s string) bool {
	return s != "" && len(s) <= 253 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}
