package wire

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// EditYAML visits every scalar value of a YAML document and returns the document with the new ones in place;
// comments, order and style stay. A scalar whose source is not the plain value (a block, an escape) cannot be changed.
func EditYAML(doc string, visit Visitor) (string, error) {
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(doc), &root); err != nil {
		return "", redactYAMLError(err)
	}
	var edits []Edit
	err := walkYAML(&root, nil, func(path []string, n *yaml.Node) error {
		text, changed := visit(path, n.Value)
		if !changed {
			return nil
		}
		start, err := scalarOffset(doc, n)
		if err != nil {
			return fmt.Errorf("change %s: %w", strings.Join(path, "."), err)
		}
		edits = append(edits, Edit{start, start + len(n.Value), text})
		return nil
	})
	if err != nil {
		return "", err
	}
	return Splice(doc, edits), nil
}

// lineOf finds the only part of a parser's error that quotes nothing of the document, which may be a secret.
var lineOf = regexp.MustCompile(`\bline [0-9]+`)

// redactYAMLError is a parser's error without what it quotes.
func redactYAMLError(err error) error {
	if line := lineOf.FindString(err.Error()); line != "" {
		return fmt.Errorf("read YAML: it is malformed near %s", line)
	}
	return errors.New("read YAML: it is malformed")
}

func walkYAML(n *yaml.Node, path []string, fn func([]string, *yaml.Node) error) error {
	switch n.Kind {
	case yaml.ScalarNode:
		return fn(path, n)
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if err := walkYAML(n.Content[i+1], append(path, n.Content[i].Value), fn); err != nil {
				return err
			}
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			if err := walkYAML(item, append(path, strconv.Itoa(i)), fn); err != nil {
				return err
			}
		}
	case yaml.DocumentNode:
		for _, item := range n.Content {
			if err := walkYAML(item, path, fn); err != nil {
				return err
			}
		}
	default: // what an alias repeats is visited at its anchor
	}
	return nil // an alias repeats what its anchor holds
}

// scalarOffset is where the scalar's value begins in the document.
func scalarOffset(doc string, n *yaml.Node) (int, error) {
	pos := 0
	for line := 1; line < n.Line; line++ {
		next := strings.IndexByte(doc[pos:], '\n')
		if next < 0 {
			return 0, fmt.Errorf("line %d is not there", n.Line)
		}
		pos += next + 1
	}
	for column := 1; column < n.Column && pos < len(doc); column++ {
		_, size := utf8.DecodeRuneInString(doc[pos:])
		pos += size
	}
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		pos++
	}
	if !strings.HasPrefix(doc[min(pos, len(doc)):], n.Value) {
		return 0, fmt.Errorf("line %d does not contain the value as plain text", n.Line)
	}
	return pos, nil
}

// IsJSON reports whether a text is a JSON object rather than YAML.
func IsJSON(text string) bool {
	return bytes.HasPrefix(bytes.TrimLeft([]byte(text[:min(len(text), 64)]), " \t\r\n"), []byte("{"))
}

// EditDocument visits the strings of a JSON or YAML document.
func EditDocument(doc string, visit Visitor) (string, error) {
	if IsJSON(doc) {
		out, err := EditJSON([]byte(doc), visit)
		return string(out), err
	}
	return EditYAML(doc, visit)
}
