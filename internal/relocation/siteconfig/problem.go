package siteconfig

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong with a configuration.
type Problem struct {
	// Key is the path of the field in the file as it was written, such as machineNetworks[0]; empty for the whole file.
	Key string `json:"key,omitempty"`
	// Value is what stands there, shortened; a secret is not shown.
	Value string `json:"value,omitempty"`
	// Line is where it stands in the file, from 1; 0 where no line can be named.
	Line int `json:"line,omitempty"`
	// Want says what would be right.
	Want string `json:"want"`
}

// String is a sentence for a person.
func (p Problem) String() string {
	var parts []string
	if p.Line > 0 {
		parts = append(parts, fmt.Sprintf("line %d", p.Line))
	}
	for _, part := range []string{p.Key, p.Value, p.Want} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ": ")
}
