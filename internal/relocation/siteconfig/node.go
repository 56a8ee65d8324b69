package siteconfig

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

// maxShown is how much of a value an error repeats, in characters.
const maxShown = 60

// describeNode is a value as an error repeats it.
func describeNode(n *yaml.Node) string {
	switch n.Kind {
	case yaml.ScalarNode:
		return quoteNonEmpty(shortenValue(n.Value))
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a group"
	default: // aliases and documents have no description
	}
	return ""
}

// shortenValue also hides a private key, which is easily pasted into the wrong field.
func shortenValue(s string) string {
	if strings.Contains(s, "PRIVATE KEY") {
		return hidden
	}
	r := []rune(s)
	if len(r) > maxShown {
		return string(r[:maxShown]) + "..."
	}
	return s
}

// lineTable says on which line the value of a key stands.
type lineTable map[string]int

func linesOf(root *yaml.Node) lineTable {
	t := lineTable{}
	t.addNode(root, "", 0)
	return t
}

// addNode enters what is below a node. before is the line of the file before the first one of the node's text.
func (t lineTable) addNode(n *yaml.Node, path string, before int) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			at := joinKey(path, n.Content[i].Value)
			t[at] = before + n.Content[i].Line
			t.addNode(n.Content[i+1], at, before)
		}
	case yaml.SequenceNode:
		for i, c := range n.Content {
			label := strconv.Itoa(i)
			if name := tree.Scalar(c, "name"); name != "" && isNetwork(path) {
				label = name
			}
			t.addItem(c, path+"["+label+"]", before)
		}
	case yaml.ScalarNode:
		var doc yaml.Node
		if isNetwork(path) && n.Style == yaml.LiteralStyle && yaml.Unmarshal([]byte(n.Value), &doc) == nil && len(doc.Content) == 1 {
			t.addNode(doc.Content[0], path, before+n.Line)
		}
	default: // aliases and documents hold no lines of their own
	}
}

func (t lineTable) addItem(n *yaml.Node, at string, before int) {
	if _, known := t[at]; !known {
		t[at] = before + n.Line
	}
	t.addNode(n, at, before)
}

// isNetwork says that a path is that of the network document, or of a part of it. Its problems call items by their names.
func isNetwork(path string) bool {
	key, _, _ := strings.Cut(path, ".")
	return key == "network" || key == "raw_nm_state_config"
}

// lineOf is the line of a key, or of the nearest group around it that the file has; 0 for the whole file.
func (t lineTable) lineOf(key string) int {
	for key != "" {
		if line, ok := t[key]; ok {
			return line
		}
		cut := strings.LastIndexAny(key, ".[")
		if cut < 0 {
			return 0
		}
		key = key[:cut]
	}
	return 0
}
