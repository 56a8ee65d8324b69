package policy

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// evaluateExpression gives the state that an expression selects. States are trees of maps, lists and scalars; they are never
// changed, only copied where they differ.
func (e *evaluation) evaluateExpression(name string, x Expression) (any, error) {
	source := e.current
	if x.Source != nil {
		capture, _ := x.Source.captureName()
		source = e.captured[capture]
	}
	value := any(nil)
	switch {
	case x.Value.Path != nil:
		v, err := e.lookupPath(*x.Value.Path)
		if err != nil {
			return nil, inCapture(name, err)
		}
		value = v
	case x.Value.quoted:
		value = x.Value.Text
	case !x.Value.Null:
		value = parseScalar(x.Value.Text)
	}
	switch x.Op {
	case "==":
		return filterList(source, x.Path.Steps, func(v any) bool { return equalScalars(v, value, x.Path.Steps[len(x.Path.Steps)-1]) }), nil
	case "=~":
		return filterList(source, x.Path.Steps, func(v any) bool { return isScalar(v) && x.Value.regex.MatchString(fmt.Sprint(v)) }), nil
	case ":=":
		if x.Source == nil {
			source = selectPath(source, x.Path.Steps[:1])
		}
		return replaceAt(source, x.Path.Steps, value, x.Value.Null), nil
	default:
		if len(x.Path.Steps) == 0 {
			return source, nil
		}
		out := selectPath(source, x.Path.Steps)
		if out == nil {
			return nil, inCapture(
				name,
				&Error{Line: x.Path.line, Column: x.Path.column, Reason: fmt.Sprintf("there is nothing at %q", x.Path)},
			)
		}
		return out, nil
	}
}

// parseScalar is a word as what YAML would make of it.
func parseScalar(s string) any {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	switch s {
	case "true":
		return true
	case "false":
		return false
	}
	return s
}

func isScalar(v any) bool {
	switch v.(type) {
	case nil, map[string]any, []any:
		return false
	}
	return true
}

// equalScalars compares scalars by their text: a number may be written as one. MAC addresses have no case.
func equalScalars(a, b any, key string) bool {
	if !isScalar(a) || !isScalar(b) {
		return a == nil && b == nil
	}
	x, y := fmt.Sprint(a), fmt.Sprint(b)
	return x == y || strings.HasSuffix(key, "mac-address") && strings.EqualFold(x, y)
}

// filterList keeps, of the first list on the path, the items for which the rest of the path leads to something that matches.
func filterList(state any, path []string, match func(any) bool) any {
	m, _ := state.(map[string]any)
	if len(path) == 0 || m == nil {
		return map[string]any{}
	}
	switch v := m[path[0]].(type) {
	case []any:
		kept := []any{}
		for _, item := range v {
			if anyMatch(item, path[1:], match) {
				kept = append(kept, item)
			}
		}
		return map[string]any{path[0]: kept}
	case map[string]any:
		if len(path) == 2 && match(v[path[1]]) {
			return map[string]any{path[0]: v}
		}
		return map[string]any{path[0]: filterList(v, path[1:], match)}
	default:
		return map[string]any{}
	}
}

// anyMatch follows the path; where it meets a list, any item will do.
func anyMatch(v any, path []string, match func(any) bool) bool {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if anyMatch(item, path, match) {
				return true
			}
		}
		return false
	case map[string]any:
		if len(path) == 0 {
			return false
		}
		next, ok := v[path[0]]
		return ok && anyMatch(next, path[1:], match)
	default:
		return len(path) == 0 && match(v)
	}
}

// selectPath keeps one way into the state; nil where it leads nowhere.
func selectPath(state any, path []string) any {
	m, ok := state.(map[string]any)
	if !ok {
		return nil
	}
	v, ok := m[path[0]]
	if !ok {
		return nil
	}
	if len(path) > 1 {
		if v = selectPath(v, path[1:]); v == nil {
			return nil
		}
	}
	return map[string]any{path[0]: v}
}

// replaceAt gives the state another value at the path, in every item of the lists on it.
func replaceAt(state any, path []string, value any, remove bool) any {
	switch v := state.(type) {
	case []any:
		out := make([]any, len(v))
		for n, item := range v {
			out[n] = replaceAt(item, path, value, remove)
		}
		return out
	case map[string]any:
		out := maps.Clone(v)
		switch next, there := v[path[0]]; {
		case len(path) == 1 && remove:
			delete(out, path[0])
		case len(path) == 1:
			out[path[0]] = value
		case there:
			out[path[0]] = replaceAt(next, path[1:], value, remove)
		case !remove:
			out[path[0]] = replaceAt(map[string]any{}, path[1:], value, remove)
		}
		return out
	default:
		return state
	}
}

// lookupPath reads a path that begins with capture.NAME.
func (e *evaluation) lookupPath(p Path) (any, error) {
	fail := func(format string, args ...any) error {
		return &Error{Line: p.line, Column: p.column, Reason: fmt.Sprintf(format, args...)}
	}
	name, ok := p.captureName()
	if !ok {
		return nil, fail("a reference begins with capture.NAME, not %q", p)
	}
	v, ok := e.captured[name]
	if !ok {
		return nil, fail("there is no capture %q", name)
	}
	at := "capture." + name
	for _, step := range p.Steps[2:] {
		switch tree := v.(type) {
		case map[string]any:
			if v, ok = tree[step]; !ok {
				return nil, fail("%s has no %q", at, step)
			}
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil {
				return nil, fail("%s is a list; pick an item by its number, not by %q", at, step)
			}
			if n < 0 || n >= len(tree) {
				return nil, fail("%s has no item %d, it has %d: the capture selected too little", at, n, len(tree))
			}
			v = tree[n]
		default:
			return nil, fail("%s is a plain value and has no %q", at, step)
		}
		at += "." + step
	}
	return v, nil
}
