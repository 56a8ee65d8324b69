package tree

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Problem is one reason why a document is refused.
type Problem struct {
	// Line in the text, from 1; 0 where there is none.
	Line int
	// Path of the key, as interfaces[eno1].ipv4.address[0].ip; empty for the whole document.
	Path   string
	Reason string
}

func (p Problem) String() string {
	s := p.Reason
	if p.Path != "" {
		s = p.Path + ": " + s
	}
	if p.Line > 0 {
		s = fmt.Sprintf("line %d: %s", p.Line, s)
	}
	return s
}

// Problems are all that is wrong with a document, up to a limit.
type Problems []Problem

func (p Problems) Error() string {
	all := make([]string, len(p))
	for k, one := range p {
		all[k] = one.String()
	}
	return strings.Join(all, "; ")
}

// Join makes the path of a key.
func Join(path, key string) string { return joinPath(path, key) }

func joinPath(path, key string) string {
	key = truncateText(key)
	if path == "" {
		return key
	}
	return path + "." + key
}

// itemLabel is how a path names an item of a list: by its name if it has one.
func itemLabel(n *yaml.Node, index int) string {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if name := lookupScalar(n, "name"); name != "" && len(name) <= 64 && !strings.ContainsAny(name, "[]\n") {
		return name
	}
	return strconv.Itoa(index)
}

// lookupScalar reads a scalar of a mapping, "" where there is none.
func lookupScalar(n *yaml.Node, key string) string {
	if n.Kind != yaml.MappingNode {
		return ""
	}
	for k := 0; k+1 < len(n.Content); k += 2 {
		if n.Content[k].Value == key {
			v := n.Content[k+1]
			for v.Kind == yaml.AliasNode {
				v = v.Alias
			}
			return v.Value
		}
	}
	return ""
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a set of keys"
	case yaml.SequenceNode:
		return "a list"
	default:
		return fmt.Sprintf("%q", truncateText(n.Value))
	}
}

func wantedKind(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a number"
	default:
		return "a text"
	}
}

// truncateText cuts long text from a document, so that a message stays readable.
func truncateText(s string) string {
	if len(s) > 64 {
		return strings.ToValidUTF8(s[:61], "") + "..."
	}
	return s
}

// suggestKey names the known key that a misspelt one is closest to.
func suggestKey(key string, fields []Field) string {
	best, cost := "", 3
	for _, f := range fields {
		if c := editDistance(key, f.Key, cost); c < cost {
			best, cost = f.Key, c
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// editDistance counts the letters to change between two words; limit is the most that is of interest.
func editDistance(a, b string, limit int) int {
	if len(a) > 64 || len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost = 1 + min(before, row[j], row[j+1])
			}
			before, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
