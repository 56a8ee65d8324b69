package tree

import (
	"fmt"
	"reflect"
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

// Child is the value of a key of a mapping, nil where there is none.
func Child(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for k := 0; k+1 < len(n.Content); k += 2 {
		if n.Content[k].Value == key {
			v := n.Content[k+1]
			for v.Kind == yaml.AliasNode {
				v = v.Alias
			}
			return v
		}
	}
	return nil
}

// Scalar is the single value of a key of a mapping, "" where there is none.
func Scalar(n *yaml.Node, key string) string {
	if v := Child(n, key); v != nil && v.Kind == yaml.ScalarNode {
		return v.Value
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

func wantedKind(t reflect.Type) string {
	switch t.Kind() {
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

// Nearest is the known word that a misspelt one most likely stands for, or "".
func Nearest(word string, known []string) string {
	best, limit := "", min(len(word)/3+2, 4)
	for _, k := range known {
		if c := editDistance(strings.ToLower(word), strings.ToLower(k), limit); c < limit {
			best, limit = k, c
		}
	}
	return best
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
