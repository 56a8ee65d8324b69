package inspect

import (
	"fmt"
	"strings"
)

// Kind of a Change.
type Kind string

// Kinds of changes.
const (
	Rewrite     Kind = "rewrite"     // a field's text
	Certificate Kind = "certificate" // a re-issued certificate put in its place
	Delete      Kind = "delete"      // an object that the cluster makes again
	Member      Kind = "member"      // etcd's record of its own member
	Defragment  Kind = "defragment"  // the store, of what was overwritten and deleted
	NewKey      Kind = "new key"     // put where a certificate's own key is missing
	Rename      Kind = "rename"      // an object, entry or file that is named for the node
)

// Change is one thing that a run does. It holds no secret.
type Change struct {
	Kind Kind `json:"kind"`
	// Where is an etcd key or the path of a file, with the field in it.
	Where string `json:"where"`
	Why   string `json:"why"`
}

// Note is something that is kept, or that blocks a run.
type Note struct {
	Where string `json:"where"`
	Why   string `json:"why"`
}

// WriteSection writes the title of a section that is not empty.
func WriteSection(b *strings.Builder, title string, n int) {
	if n > 0 {
		fmt.Fprintf(b, "%s (%d):\n", title, n)
	}
}

// WriteNotes writes a section of notes.
func WriteNotes(b *strings.Builder, title string, list []Note) {
	WriteSection(b, title, len(list))
	for _, n := range list {
		fmt.Fprintf(b, "  %s: %s\n", n.Where, n.Why)
	}
}

// Count is a number with its noun, "1 problem" or "2 problems".
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
