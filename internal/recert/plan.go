package recert

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
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

// Reissue is a leaf certificate that gets signed again.
type Reissue struct {
	Subject  string   `json:"subject"`
	Issuer   string   `json:"issuer"`
	NotAfter string   `json:"notAfter"`
	Names    []string `json:"names"` // after the change
	Places   []string `json:"places"`
	// NewKey says that its own key is not in the cluster, so that it gets another.
	NewKey bool `json:"newKey,omitempty"`
}

// Note is something that stays as it is, or that stands in the way.
type Note struct {
	Where string `json:"where"`
	Why   string `json:"why"`
}

// Plan is everything a run would do, in the order in which it does it.
type Plan struct {
	Addresses []AddressChange `json:"addresses"`
	// Node is the node's change of name.
	Node *Renaming `json:"node,omitempty"`
	// Cluster is the cluster's change of name.
	Cluster      *ClusterRenaming `json:"cluster,omitempty"`
	Certificates []Reissue        `json:"certificates,omitempty"`
	Changes      []Change         `json:"changes,omitempty"`
	// Kept lists what names an old address, or belongs to a deleted kind, and stays on purpose.
	Kept []Note `json:"kept,omitempty"`
	// Leftovers lists other mentions of an old address, for people to look at.
	Leftovers []Note `json:"leftovers,omitempty"`
	// Blocked lists why the plan cannot be carried out. A run with any entry changes nothing.
	Blocked []Note `json:"blocked,omitempty"`

	first   []host.Edit // with new keys, before all else
	files   []fileWrite
	edits   []host.Edit
	members []host.StoreMember
	last    []host.Edit // of the objects that say what the cluster is called
	nodes   []host.Edit // applied last
	defrag  bool        // after all of that
	stale   []string    // files that are called otherwise now, removed after the others are written

	signed, rekeyed map[string]string // see progress
}

// fileWrite is a file's new content.
type fileWrite struct {
	path string
	data []byte
	mode fs.FileMode
}

// Empty says that there is nothing to do.
func (p *Plan) Empty() bool {
	return len(p.first)+len(p.files)+len(p.stale)+len(p.edits)+len(p.members)+len(p.last)+len(p.nodes) == 0 && !p.defrag
}

// YAML and JSON render the plan for machines and for tickets.
func (p *Plan) YAML() ([]byte, error) { return marshalYAML(p) }

// JSON renders the plan with the same fields as YAML.
func (p *Plan) JSON() ([]byte, error) { return marshalJSON(p) }

func marshalYAML(v any) ([]byte, error) { return yaml.Marshal(v) }

func marshalJSON(v any) ([]byte, error) { return json.MarshalIndent(v, "", "  ") }

// WriteText renders the plan for a person.
func (p *Plan) WriteText(w io.Writer) error {
	var b strings.Builder
	if p.Empty() {
		b.WriteString("Nothing to do.\n")
	}
	for _, a := range p.Addresses {
		fmt.Fprintf(&b, "%s becomes %s\n", a.Old, a.New)
	}
	if p.Node != nil {
		fmt.Fprintf(&b, "node %s becomes %s\n", p.Node.Old, p.Node.New)
	}
	if p.Cluster != nil {
		fmt.Fprintf(&b, "cluster %s (infrastructure %s) becomes %s (%s)\n",
			p.Cluster.Zone.Old, p.Cluster.Infra.Old, p.Cluster.Zone.New, p.Cluster.Infra.New)
	}
	section(&b, "Certificates to re-issue", len(p.Certificates))
	for _, c := range p.Certificates {
		fmt.Fprintf(&b, "  %s\n    issued by %s, valid until %s, in %d places\n", c.Subject, c.Issuer, c.NotAfter, len(c.Places))
		if c.NewKey {
			b.WriteString("    with a NEW KEY: its own is not in the cluster, and its place is empty\n")
		}
	}
	section(&b, "Changes", len(p.Changes))
	for _, c := range p.Changes {
		fmt.Fprintf(&b, "  %-11s %s: %s\n", c.Kind, c.Where, c.Why)
	}
	notes(&b, "Left as they are", p.Kept)
	notes(&b, "Other mentions of an old address", p.Leftovers)
	notes(&b, "In the way", p.Blocked)
	_, err := io.WriteString(w, b.String())
	return err
}

func section(b *strings.Builder, title string, n int) {
	if n > 0 {
		fmt.Fprintf(b, "%s (%d):\n", title, n)
	}
}

func notes(b *strings.Builder, title string, list []Note) {
	section(b, title, len(list))
	for _, n := range list {
		fmt.Fprintf(b, "  %s: %s\n", n.Where, n.Why)
	}
}
