package recert

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/certs"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/inspect"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// assembleWrites turns what was found into writes.
func (p *planner) assembleWrites() error {
	p.assembleFiles()
	changed := len(p.plan.files)+len(p.plan.members)+len(p.plan.nodes) > 0
	for _, o := range p.Objects {
		if err := p.replaceCertificates(o); err != nil {
			return fmt.Errorf("replace certificates in %s: %w", o.Key, err)
		}
		if p.Config.Expiry != config.KeepExpiry {
			if err := p.noteValidity(o); err != nil {
				return fmt.Errorf("note the validity in %s: %w", o.Key, err)
			}
		}
		changed = changed || o.Changed
	}
	if err := p.followAuthorityHash(); err != nil {
		return fmt.Errorf("update the hash of the packageserver's authority: %w", err)
	}
	moves := changed && p.Mapping.Moves()
	if moves {
		if err := p.applyFollowers(); err != nil {
			return fmt.Errorf("update what depends on the change: %w", err)
		}
	}
	if err := p.followDependencies(); err != nil {
		return fmt.Errorf("update hashes of deployments: %w", err)
	}
	p.assembleObjects(moves)
	for _, m := range p.plan.members {
		p.AddChange(inspect.Member, "etcd member "+m.Name, "peer URL "+strings.Join(m.PeerURLs, ","))
	}
	for _, n := range p.plan.nodes {
		if n.Delete {
			p.AddChange(inspect.Delete, n.Key, "the kubelet registers the node again")
			continue
		}
		p.AddChange(inspect.Rewrite, n.Key, "carries the new address; labels, taints and annotations stay")
	}
	return nil
}

func (p *planner) assembleFiles() {
	p.plan.files = slices.Concat(p.newKeyFiles(), p.plan.files)
	for _, f := range p.Files {
		if text := p.replaceIn(f.Path, f.Text); text != f.Text {
			f.Text, f.Changed = text, true
			p.AddChange(inspect.Certificate, f.Path, p.reissueReason())
		}
		if f.Changed {
			p.plan.files = append(p.plan.files, fileWrite{cmp.Or(f.MovesTo, f.Path), []byte(f.Text), f.Mode})
		}
		if f.MovesTo != "" {
			p.plan.stale = append(p.plan.stale, f.Path)
		}
	}
}

// assembleObjects adds the writes of the store; objects are removed only where something moves.
func (p *planner) assembleObjects(moves bool) {
	for _, o := range p.Objects {
		if o.Changed {
			p.addWrites(o)
		}
	}
	if !moves {
		return
	}
	for _, r := range p.Removals {
		p.plan.edits = append(p.plan.edits, host.Edit{Key: r.Object.Key, Delete: true, ModRevision: r.Object.ModRevision})
		p.AddChange(inspect.Delete, r.Object.Key, r.Why)
	}
}

// addWrites adds a changed object to the writes. Objects with a new key or with hashes of others come first, because a hash can be checked
// only against objects that have not changed yet. Objects that name the cluster come last, DNS cluster at the very end: where it has
// the new name, the next run takes the rest for done.
func (p *planner) addWrites(o *wire.Object) {
	switch {
	case rules.NamesCluster(o.Key) && !p.Mapping.Cluster.Empty():
		p.plan.last = append(p.plan.last, p.editsOf(o)...)
		slices.SortFunc(p.plan.last, func(a, b host.Edit) int { return cmp.Compare(b.Key, a.Key) })
	case p.holders[o.Key], slices.Contains(p.Hashing, o):
		p.plan.first = append(p.plan.first, p.editsOf(o)...)
	default:
		p.plan.edits = append(p.plan.edits, p.editsOf(o)...)
	}
}

// editsOf are the writes of a changed object. A renamed one is written under its new key and deleted under the old one; where an
// interrupted run has written it already, only the deletion is left.
func (p *planner) editsOf(o *wire.Object) []host.Edit {
	if o.MovesTo == "" {
		return []host.Edit{{Key: o.Key, Value: o.Value, ModRevision: o.ModRevision}}
	}
	removal := host.Edit{Key: o.Key, Delete: true, ModRevision: o.ModRevision}
	existing, ok := p.Named[o.MovesTo]
	switch {
	case !ok:
		return []host.Edit{{Key: o.MovesTo, Value: o.Value}, removal}
	case string(existing.Value) == string(o.Value), p.Record.Settled(o.MovesTo, existing.Value):
		return []host.Edit{removal}
	}
	p.addBlocked(o.MovesTo, "already exists, and "+o.Key+" is renamed to it: delete the one that is not the node's")
	return nil
}

// newKeyFiles are the files of new keys, which are written before the files with their certificates.
func (p *planner) newKeyFiles() []fileWrite {
	var out []fileWrite
	for _, where := range slices.Sorted(maps.Keys(p.made)) {
		if strings.HasPrefix(where, rules.StoragePrefix) {
			continue
		}
		text, to := p.made[where], where
		for _, f := range p.Files {
			if f.Path == where { // it gets another name too
				f.Text, to = text, cmp.Or(f.MovesTo, to)
			}
		}
		out = append(out, fileWrite{to, []byte(text), 0o600})
	}
	return out
}

// reissueReason is why a certificate is replaced.
func (p *planner) reissueReason() string {
	if p.Config.NewKeys {
		return "its keys are replaced, and what is signed with them"
	}
	if p.Config.ReissuesTrees() {
		return "a certificate in it is signed again"
	}
	if p.Mapping.Empty() {
		return "names the node by its old name"
	}
	return "names an old address"
}

func (p *planner) replaceCertificates(o *wire.Object) error {
	return o.Edit(func(at []string, text string) (string, bool) {
		where := o.Key + " " + strings.Join(at, "/")
		if fresh, ok := p.made[where]; ok {
			return fresh, true
		}
		if !p.Config.NewKeys && !wire.MayHoldBlobs(text) {
			return text, false
		}
		replaced := p.replaceIn(where, text)
		if replaced == text {
			return text, false
		}
		p.AddChange(inspect.Certificate, where, p.reissueReason())
		return replaced, true
	})
}

// noteValidity updates the annotations by which library-go's certificate controllers decide what to renew.
func (p *planner) noteValidity(o *wire.Object) error {
	if !o.Changed {
		return nil
	}
	var cert *x509.Certificate
	err := o.Walk(func(at []string, text string) {
		if wire.MatchPath([]string{"data", "tls.crt"}, at) {
			cert = certs.FirstCertificate(text)
		}
	})
	if err != nil || cert == nil {
		return err
	}
	return o.Edit(func(at []string, text string) (string, bool) {
		for name, when := range map[string]time.Time{"not-before": cert.NotBefore, "not-after": cert.NotAfter} {
			if wire.MatchPath([]string{"metadata", "annotations", "auth.openshift.io/certificate-" + name}, at) {
				want := when.UTC().Format(time.RFC3339)
				if want != text {
					p.Rewritten(o, at, "validity of the certificate")
				}
				return want, want != text
			}
		}
		return text, false
	})
}
