package rules

import (
	"path"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/replace"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// Within maps the addresses in a field's text. It is a function of its arguments alone, and idempotent.
type Within func(m replace.Mapping, text string) (string, error)

// FieldRule names a field of some objects that carries addresses. Adding a place is adding a line.
type FieldRule struct {
	// Keys matches the object's key below the storage prefix (path.Match).
	Keys string
	// Field matches the path to the text: "*" is any one step, "**" any number at the end.
	Field []string
	In    Within
	Why   string
}

// MatchKey compares a key with a pattern of path.Match; patterns are constants, so a bad one is a programming error. Every key is
// compared with every rule, and most differ in one of the first characters.
func MatchKey(pattern, key string) bool {
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

// isWildcard reports whether a character is special in a pattern of path.Match.
func isWildcard(c byte) bool { return c == '*' || c == '?' || c == '[' || c == '\\' }

// mapAnywhere maps every address in the text that stands by itself.
func mapAnywhere(m replace.Mapping, text string) (string, error) { return m.Text(text), nil }

// hostList maps a comma-separated list of names and addresses; a sorted list stays sorted.
func hostList(m replace.Mapping, text string) (string, error) {
	names := strings.Split(text, ",")
	sorted, changed := slices.IsSorted(names), false
	for i, name := range names {
		mapped, ok := m.HostOrNode(name)
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

// withinDocument maps addresses in the named fields of a JSON or YAML document.
func withinDocument(fields ...string) Within {
	var patterns [][]string
	for _, f := range fields {
		patterns = append(patterns, wire.FieldPath(f))
	}
	return func(m replace.Mapping, text string) (string, error) {
		if m.Text(text) == text {
			return text, nil // nothing to find, so the document is not parsed
		}
		return wire.EditDocument(text, func(at []string, value string) (string, bool) {
			if !slices.ContainsFunc(patterns, func(p []string) bool { return wire.MatchPath(p, at) }) {
				return value, false
			}
			mapped := m.Text(value)
			return mapped, mapped != value
		})
	}
}

// withinEnvironment maps addresses in the values of the named variables of a file of "export NAME=value" lines.
func withinEnvironment(names ...string) Within {
	return func(m replace.Mapping, text string) (string, error) {
		lines := strings.SplitAfter(text, "\n")
		for i, line := range lines {
			name, value, ok := strings.Cut(line, "=")
			name = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(name), "export "))
			if ok && slices.ContainsFunc(names, func(p string) bool { return MatchKey(p, name) }) {
				lines[i] = line[:len(line)-len(value)] + m.Text(value)
			}
		}
		return strings.Join(lines, ""), nil
	}
}

// withinFlag maps addresses in the value of a command-line flag, alone or inside a script.
func withinFlag(name string) Within {
	return func(m replace.Mapping, text string) (string, error) {
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
