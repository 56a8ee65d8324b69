package recert

import (
	"path"
	"slices"
	"strings"
)

// within says how addresses sit in a field's text, and maps them there. It must be a
// function of its arguments alone, and change nothing the second time.
type within func(m Mapping, text string) (string, error)

// fieldRule names a field of some objects that carries addresses. Adding a place is adding a line.
type fieldRule struct {
	// keys matches the object's key below the storage prefix (path.Match).
	keys string
	// field matches the path to the text: "*" is any one step, "**" any number at the end.
	field []string
	in    within
	why   string
}

// fieldPath splits "a/b/c"; a step that holds a slash itself is written with "|".
func fieldPath(text string) []string {
	steps := strings.Split(text, "/")
	for i := range steps {
		steps[i] = strings.ReplaceAll(steps[i], "|", "/")
	}
	return steps
}

// matchPath compares a path with a field pattern.
func matchPath(pattern, at []string) bool {
	for i, step := range pattern {
		if step == "**" {
			return len(at) >= i
		}
		if i >= len(at) || (step != "*" && step != at[i]) {
			return false
		}
	}
	return len(at) == len(pattern)
}

// matchKey compares a key with a pattern of path.Match; patterns are constants, so a bad one is a programming error. Every key is
// held against every rule, and most part at one of the first characters.
func matchKey(pattern, key string) bool {
	for i := range len(pattern) {
		switch c := pattern[i]; {
		case isWildcard(c):
			ok, err := path.Match(pattern[i:], key[i:])
			return ok && err == nil
		case i >= len(key) || key[i] != c:
			return false
		}
	}
	return len(key) == len(pattern)
}

// isWildcard says that a pattern of path.Match means something else by the character than itself.
func isWildcard(c byte) bool { return c == '*' || c == '?' || c == '[' || c == '\\' }

// anywhere maps every address in the text that stands by itself.
func anywhere(m Mapping, text string) (string, error) { return m.Text(text), nil }

// hostList maps a comma-separated list of names and addresses; a sorted list stays sorted.
func hostList(m Mapping, text string) (string, error) {
	names := strings.Split(text, ",")
	sorted, changed := slices.IsSorted(names), false
	for i, name := range names {
		mapped, ok := m.hostOrNode(name)
		names[i], changed = mapped, changed || ok
	}
	if !changed {
		return text, nil
	}
	if sorted {
		slices.Sort(names)
	}
	return strings.Join(names, ","), nil
}

// document maps addresses in the named fields of a JSON or YAML document.
func document(fields ...string) within {
	var patterns [][]string
	for _, f := range fields {
		patterns = append(patterns, fieldPath(f))
	}
	return func(m Mapping, text string) (string, error) {
		if m.Text(text) == text {
			return text, nil // nothing to find, and no reason to understand the document
		}
		return editDocument(text, func(at []string, value string) (string, bool) {
			if !slices.ContainsFunc(patterns, func(p []string) bool { return matchPath(p, at) }) {
				return value, false
			}
			mapped := m.Text(value)
			return mapped, mapped != value
		})
	}
}

// environment maps addresses in the values of the named variables of a file of "export NAME=value" lines.
func environment(names ...string) within {
	return func(m Mapping, text string) (string, error) {
		lines := strings.SplitAfter(text, "\n")
		for i, line := range lines {
			name, value, ok := strings.Cut(line, "=")
			name = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(name), "export "))
			if ok && slices.ContainsFunc(names, func(p string) bool { return matchKey(p, name) }) {
				lines[i] = line[:len(line)-len(value)] + m.Text(value)
			}
		}
		return strings.Join(lines, ""), nil
	}
}

// flag maps addresses in the value of a command-line flag, alone or inside a script.
func flag(name string) within {
	return func(m Mapping, text string) (string, error) {
		var out strings.Builder
		for {
			before, rest, ok := strings.Cut(text, name+"=")
			out.WriteString(before)
			if !ok {
				return out.String(), nil
			}
			end := strings.IndexAny(rest, " \t\r\n\\")
			if end < 0 {
				end = len(rest)
			}
			out.WriteString(name + "=" + m.Text(rest[:end]))
			text = rest[end:]
		}
	}
}
