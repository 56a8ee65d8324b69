// Package output prints lca-cli's answers: text for people, YAML and JSON for
// programs. Every verb with an answer calls it; it imports a YAML codec only.
package output

import (
	"encoding/json"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"
)

// Format is the value of the -o flag.
type Format string

// The formats.
const (
	Text Format = "text"
	YAML Format = "yaml"
	JSON Format = "json"
)

// Parse checks the -o flag.
func Parse(s string) (Format, error) {
	switch f := Format(s); f {
	case Text, YAML, JSON:
		return f, nil
	}
	return "", fmt.Errorf("output format %q is none of text, yaml, json", s)
}

// Answer is something that can be printed for a person; its exported fields are
// what programs get.
type Answer interface {
	Text(w io.Writer) error
}

// Print writes the answer in the format.
func Print(w io.Writer, f Format, a Answer) error {
	switch f {
	case JSON:
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(a)
	case YAML:
		data, err := yaml.Marshal(a)
		if err != nil {
			return fmt.Errorf("encode answer: %w", err)
		}
		_, err = w.Write(data)
		return err
	default: // text, below
	}
	return a.Text(w)
}
