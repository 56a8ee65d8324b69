package recert

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/inspect"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/replace"
)

// commitTo carries the plan out. The order makes every interruption harmless: files and objects can be written again with the same
// result, and the Node, from which the next run learns the old address, is deleted last.
func (p *Plan) commitTo(ctx context.Context, files host.Files, store host.OpenKeystore) error {
	if err := store.Commit(ctx, p.first); err != nil {
		return fmt.Errorf("write objects with new keys and hashes: %w", err)
	}
	for _, f := range p.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := files.Write(f.path, f.data, f.mode); err != nil {
			return fmt.Errorf("write %s: %w", f.path, err)
		}
	}
	for _, old := range p.stale {
		if err := files.Remove(old); err != nil {
			return fmt.Errorf("remove %s, which was renamed: %w", old, err)
		}
	}
	if err := store.Commit(ctx, p.edits); err != nil {
		return fmt.Errorf("write objects: %w", err)
	}
	for _, m := range p.members {
		if err := store.UpdateMember(ctx, m.ID, m.PeerURLs); err != nil {
			return fmt.Errorf("set the peer URLs of etcd member %s: %w", m.Name, err)
		}
	}
	if err := store.Commit(ctx, append(p.last, p.nodes...)); err != nil {
		return fmt.Errorf("write the objects that name the cluster, delete the Node: %w", err)
	}
	if p.defrag {
		return store.Defragment(ctx)
	}
	return nil
}

// Reissue is a leaf certificate that gets signed again.
type Reissue struct {
	Subject  string   `json:"subject"`
	Issuer   string   `json:"issuer"`
	NotAfter string   `json:"notAfter"`
	Names    []string `json:"names"` // after the change
	Places   []string `json:"places"`
	// NewKey is set where its own key is not in the cluster, so that it gets another.
	NewKey bool `json:"newKey,omitempty"`
	// Algorithm is what it is signed with and was signed with before, where nothing new is signed with the latter.
	Algorithm string `json:"algorithm,omitempty"`
}

// Plan is everything a run would do, in the order in which it does it.
type Plan struct {
	Addresses []replace.Address `json:"addresses"`
	// Node is the node's change of name.
	Node *replace.Name `json:"node,omitempty"`
	// Cluster is the cluster's change of name.
	Cluster      *replace.Cluster `json:"cluster,omitempty"`
	Certificates []Reissue        `json:"certificates,omitempty"`
	Changes      []inspect.Change `json:"changes,omitempty"`
	// Kept lists what names an old address, or belongs to a deleted kind, and is not changed on purpose.
	Kept []inspect.Note `json:"kept,omitempty"`
	// Warnings lists what an administrator has to attend to: certificates that keep an old address or name, and objects that
	// bring an old address back.
	Warnings []inspect.Note `json:"warnings,omitempty"`
	// Leftovers lists other mentions of an old address, for review.
	Leftovers []inspect.Note `json:"leftovers,omitempty"`
	// NotRead lists what could not be looked into: it may mention an old address.
	NotRead []inspect.Note `json:"notRead,omitempty"`
	// Blocked lists why the plan cannot be carried out. A run with any entry changes nothing.
	Blocked []inspect.Note `json:"blocked,omitempty"`

	first   []host.Edit // with new keys, before all else
	files   []fileWrite
	edits   []host.Edit
	members []host.StoreMember
	last    []host.Edit // of the objects that name the cluster
	nodes   []host.Edit // applied last
	defrag  bool        // after all of that
	stale   []string    // renamed files, removed after the others are written

	signed, rekeyed map[string]string // see progress
	keys            config.Keys       // that are new, by the subjectPublicKeyInfo of those that they replace
}

// fileWrite is a file's new content.
type fileWrite struct {
	path string
	data []byte
	mode fs.FileMode
}

// Empty reports whether there is nothing to do.
func (p *Plan) Empty() bool {
	return len(p.first)+len(p.files)+len(p.stale)+len(p.edits)+len(p.members)+len(p.last)+len(p.nodes) == 0 && !p.defrag
}

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
	inspect.WriteSection(&b, "Certificates to re-issue", len(p.Certificates))
	for _, c := range p.Certificates {
		places := inspect.Count(len(c.Places), "place")
		fmt.Fprintf(&b, "  %s\n    issued by %s, valid until %s, in %s\n", c.Subject, c.Issuer, c.NotAfter, places)
		if c.NewKey {
			b.WriteString("    with a NEW KEY: its own is not in the cluster, and its place is empty\n")
		}
		if c.Algorithm != "" {
			fmt.Fprintf(&b, "    signed with %s\n", c.Algorithm)
		}
	}
	inspect.WriteSection(&b, "Changes", len(p.Changes))
	for _, c := range p.Changes {
		fmt.Fprintf(&b, "  %-11s %s: %s\n", c.Kind, c.Where, c.Why)
	}
	inspect.WriteNotes(&b, "Warnings", p.Warnings)
	inspect.WriteNotes(&b, "Kept", p.Kept)
	inspect.WriteNotes(&b, "Other mentions of an old address", p.Leftovers)
	inspect.WriteNotes(&b, "Not looked into", p.NotRead)
	inspect.WriteNotes(&b, "Blocked", p.Blocked)
	_, err := io.WriteString(w, b.String())
	return err
}
