package siteconfig

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MaxSize bounds a file, in bytes.
const MaxSize = 4 << 20

// Decode reads a configuration in any format that it knows and validates it. With problems, the configuration is what
// could be read of it, for showing only.
func Decode(data []byte) (SiteConfig, []Problem) {
	root, problem := parse(data)
	if problem != nil {
		return SiteConfig{}, []Problem{*problem}
	}
	lines := linesOf(root)
	f, problem := formatOf(root)
	if problem != nil {
		problem.Line = lines.of(problem.Key)
		return SiteConfig{}, []Problem{*problem}
	}
	c, problems, nameOf := f.read(root)
	bad := map[string]bool{}
	for _, p := range problems {
		bad[p.Key] = true
	}
	for _, p := range Validate(c) {
		if rest, ok := strings.CutPrefix(p.Key, "network."); ok {
			p.Key = nameOf("network") + "." + rest
		} else {
			p.Key = nameOf(p.Key)
		}
		if !bad[p.Key] { // the value that is judged is not the one that stands there
			problems = append(problems, p)
		}
	}
	for i := range problems {
		problems[i].Line = lines.of(problems[i].Key)
	}
	return c, problems
}

// parse yields the one document of a file.
func parse(data []byte) (*yaml.Node, *Problem) {
	text, problem := plainText(data)
	if problem != nil {
		return nil, problem
	}
	dec := yaml.NewDecoder(strings.NewReader(text))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, &Problem{Want: "the file is empty; write apiVersion: " + APIVersion + " and kind: " + Kind + " first"}
		}
		return nil, &Problem{Want: "the file is not YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, &Problem{Want: "the file holds more than one document; keep one, and remove the --- lines"}
	}
	root := doc.Content[0]
	if problem := checkTree(root); problem != nil {
		return nil, problem
	}
	if root.Kind != yaml.MappingNode {
		return nil, &Problem{Value: shown(root), Want: "the file must be a list of keys with values, such as hostname: site-1"}
	}
	return root, nil
}

// Bounds on the shape of a file; real ones stay far below.
const (
	maxDepth = 64
	maxNodes = 200_000
)

// checkTree refuses what makes a small file large: aliases, and nesting without end.
func checkTree(root *yaml.Node) *Problem {
	nodes := 0
	var walk func(n *yaml.Node, depth int) *Problem
	walk = func(n *yaml.Node, depth int) *Problem {
		nodes++
		switch {
		case n.Kind == yaml.AliasNode:
			return &Problem{Value: "*" + n.Value, Line: n.Line, Want: "a YAML alias is not supported; write the value out"}
		case depth > maxDepth:
			return &Problem{Line: n.Line, Want: fmt.Sprintf("the file is nested deeper than %d levels", maxDepth)}
		case nodes > maxNodes:
			return &Problem{Want: fmt.Sprintf("the file holds more than %d values", maxNodes)}
		}
		for _, c := range n.Content {
			if p := walk(c, depth+1); p != nil {
				return p
			}
		}
		return nil
	}
	return walk(root, 0)
}

// format reads one of the formats. nameOf turns a key of SiteConfig into the one that the file uses.
type format struct {
	read func(*yaml.Node) (c SiteConfig, problems []Problem, nameOf func(string) string)
}

// formatOf recognizes a file by what it says about itself.
func formatOf(root *yaml.Node) (format, *Problem) {
	version, kind := scalarAt(root, "apiVersion"), scalarAt(root, "kind")
	switch {
	case child(root, "api_version") != nil:
		return format{readSeedReconfiguration}, nil
	case kind == relocationKind:
		return format{readClusterRelocation}, nil
	case kind != Kind:
		return format{}, &Problem{Key: "kind", Value: quoted(kind), Want: fmt.Sprintf(
			"must be %s (or %s, or a manifest.json with api_version)", Kind, relocationKind)}
	case version != APIVersion:
		return format{}, &Problem{Key: "apiVersion", Value: quoted(version), Want: "must be " + APIVersion}
	}
	return format{readNative}, nil
}

func readNative(root *yaml.Node) (SiteConfig, []Problem, func(string) string) {
	var c SiteConfig
	return c, fill(&c, root), func(key string) string { return key }
}

func quoted(s string) string {
	if s == "" {
		return ""
	}
	return fmt.Sprintf("%q", s)
}
