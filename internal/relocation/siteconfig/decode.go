package siteconfig

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

// MaxSize bounds a file, in bytes.
const MaxSize = 4 << 20

// Decode reads a configuration in any format that it knows and validates it. With problems, the configuration is what
// could be read of it, for showing only.
func Decode(data []byte) (SiteConfig, []Problem) {
	root, problem := parseDocument(data)
	if problem != nil {
		return SiteConfig{}, []Problem{*problem}
	}
	lines := linesOf(root)
	f, problem := formatOf(root)
	if problem != nil {
		problem.Line = lines.lineOf(problem.Key)
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
		if problems[i].Line == 0 {
			problems[i].Line = lines.lineOf(problems[i].Key)
		}
	}
	return c, problems
}

// parseDocument yields the one document of a file.
func parseDocument(data []byte) (*yaml.Node, *Problem) {
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
		return nil, &Problem{Value: describeNode(root), Want: "the file must be a list of keys with values, such as hostname: site-1"}
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
	version, kind := tree.Scalar(root, "apiVersion"), tree.Scalar(root, "kind")
	switch {
	case tree.Child(root, "api_version") != nil:
		return format{readSeedReconfiguration}, nil
	case kind == relocationKind:
		return format{readClusterRelocation}, nil
	case kind != Kind:
		return format{}, &Problem{Key: "kind", Value: quoteNonEmpty(kind), Want: fmt.Sprintf(
			"must be %s (or %s, or a manifest.json with api_version)", Kind, relocationKind)}
	case version != APIVersion:
		return format{}, &Problem{Key: "apiVersion", Value: quoteNonEmpty(version), Want: "must be " + APIVersion}
	}
	return format{readNative}, nil
}

func readNative(root *yaml.Node) (SiteConfig, []Problem, func(string) string) {
	var c SiteConfig
	return c, fillFields(&c, root), func(key string) string { return key }
}

func quoteNonEmpty(s string) string {
	if s == "" {
		return ""
	}
	return fmt.Sprintf("%q", s)
}

// plainText undoes what editors of other systems do to a text file: byte order marks and UTF-16. Line ends stay; YAML
// knows both.
func plainText(data []byte) (string, *Problem) {
	if len(data) > MaxSize {
		return "", &Problem{Want: fmt.Sprintf("the file is %d bytes long; at most %d are read", len(data), MaxSize)}
	}
	switch {
	case bytes.HasPrefix(data, []byte{0xef, 0xbb, 0xbf}):
		data = data[3:]
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		return fromUTF16(data[2:], binary.LittleEndian)
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		return fromUTF16(data[2:], binary.BigEndian)
	}
	if i := bytes.IndexByte(data, 0); i >= 0 || !utf8.Valid(data) {
		return "", &Problem{Want: "the file is not plain text; save it as UTF-8 text (not as a document of a word processor)"}
	}
	return string(data), nil
}

func fromUTF16(data []byte, order binary.ByteOrder) (string, *Problem) {
	if len(data)%2 != 0 {
		return "", &Problem{Want: "the file is cut off: it is UTF-16 text with an odd number of bytes; copy it again"}
	}
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	return string(utf16.Decode(units)), nil
}

// DecodeManifests reads the objects of a file, document by document.
func DecodeManifests(data []byte) ([]json.RawMessage, []Problem) {
	text, problem := plainText(data)
	if problem != nil {
		return nil, []Problem{*problem}
	}
	var out []json.RawMessage
	f := &filler{}
	for dec := yaml.NewDecoder(strings.NewReader(text)); ; {
		var doc yaml.Node
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return out, append(f.problems, Problem{Want: "the file is not YAML: " + yamlReason(err)})
		}
		root := doc.Content[0]
		if root.Tag == "!!null" {
			continue
		}
		if p := checkTree(root); p != nil {
			return out, append(f.problems, *p)
		}
		var object json.RawMessage
		f.fillRawJSON(reflect.ValueOf(&object).Elem(), root, "")
		out = append(out, object)
	}
	v := &validator{}
	v.checkManifests("object", out)
	return out, append(f.problems, v.problems...)
}
