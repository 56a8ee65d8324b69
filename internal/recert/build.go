package recert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// buildPlan reads the store and the disk and works out everything; it writes nothing.
func buildPlan(ctx context.Context, p Ports, cfg Config, store host.OpenKeystore, resume progress) (*Plan, error) {
	s, nodes, err := newScan(ctx, p, cfg, store, resume)
	if err != nil {
		return nil, err
	}
	if err := s.read(ctx, p, store); err != nil {
		return nil, err
	}
	s.refuseEncrypted()
	if len(s.plan.Blocked) > 0 {
		return s.plan, nil
	}
	s.planNodes(nodes)
	if err := s.reissueLeaves(p.Rand); err != nil {
		return nil, err
	}
	if err := s.assemble(); err != nil {
		return nil, err
	}
	return s.plan, nil
}

// newScan learns what the old addresses are.
func newScan(ctx context.Context, p Ports, cfg Config, store host.OpenKeystore, resume progress) (*scan, []node, error) {
	nodes, err := readNodes(ctx, store)
	if err != nil {
		return nil, nil, err
	}
	mapping, err := resolveMapping(cfg, nodes)
	if err != nil {
		return nil, nil, err
	}
	return &scan{cfg: cfg, mapping: mapping, now: p.Clock(), log: p.Log, resume: resume, encrypted: map[string]int{},
		plan: &Plan{Addresses: mapping.Changes()}, pki: newPKI(mapping)}, nodes, nil
}

// read visits everything once.
func (s *scan) read(ctx context.Context, p Ports, store host.OpenKeystore) error {
	if err := s.readStore(ctx, store); err != nil {
		return err
	}
	if err := s.readDisk(ctx, p.Files); err != nil {
		return err
	}
	return s.planMember(ctx, store)
}

// resolveMapping takes the old addresses from the explicit rules and, for families they do not cover, from the
// Node object. Without a Node an earlier run has finished.
func resolveMapping(cfg Config, nodes []node) (Mapping, error) {
	changes := slices.Clone(cfg.Replace)
	for _, fresh := range cfg.IPs {
		explicit := slices.IndexFunc(cfg.Replace, func(c AddressChange) bool { return c.Old.Is4() == fresh.Is4() })
		if explicit >= 0 {
			if !slices.ContainsFunc(cfg.Replace, func(c AddressChange) bool { return c.New == fresh || c.Old == fresh }) {
				return Mapping{}, fmt.Errorf("the new address %s is not what cn_san_replace_rules lead to", fresh)
			}
			continue
		}
		if len(nodes) == 0 {
			continue
		}
		if len(nodes) > 1 {
			return Mapping{}, fmt.Errorf("%d Node objects: cn_san_replace_rules must say what %s replaces", len(nodes), fresh)
		}
		old, err := nodeAddress(nodes[0], fresh.Is4())
		if err != nil {
			return Mapping{}, fmt.Errorf("the new address %s: %w", fresh, err)
		}
		changes = append(changes, AddressChange{old, fresh})
	}
	return NewMapping(changes)
}

// nodeAddress is the node's one internal address of the family.
func nodeAddress(n node, is4 bool) (netip.Addr, error) {
	for _, text := range n.addresses {
		a, err := netip.ParseAddr(text)
		if err == nil && a.Is4() == is4 {
			return a, nil
		}
	}
	return netip.Addr{}, errors.New("the Node object has no internal address of its family to replace")
}

// planMember maps the peer URLs of etcd's own member.
func (s *scan) planMember(ctx context.Context, store host.OpenKeystore) error {
	members, err := store.Members(ctx)
	if err != nil {
		return err
	}
	if len(members) != 1 {
		return fmt.Errorf("etcd has %d members: only a single-node cluster can be moved", len(members))
	}
	m := members[0]
	if s.resume.settled(memberLocation, []byte(strings.Join(m.PeerURLs, ","))) {
		return nil
	}
	urls := make([]string, len(m.PeerURLs))
	for i, u := range m.PeerURLs {
		urls[i] = s.mapping.Text(u)
	}
	if !slices.Equal(urls, m.PeerURLs) {
		s.plan.members = append(s.plan.members, host.StoreMember{ID: m.ID, Name: m.Name, PeerURLs: urls})
	}
	return nil
}

// planNodes deletes the Node objects that carry an old address.
func (s *scan) planNodes(nodes []node) {
	for _, n := range nodes {
		old := slices.ContainsFunc(n.addresses, func(text string) bool {
			_, ok := s.mapping.Host(text)
			return ok
		})
		if old {
			s.plan.nodes = append(s.plan.nodes, host.Edit{Key: n.Key, Delete: true, ModRevision: n.ModRevision})
		}
	}
}

// reissueLeaves signs every affected leaf again and proves the result.
func (s *scan) reissueLeaves(rand io.Reader) error {
	for _, leaf := range s.pki.leaves {
		issuer, key, err := s.pki.issuer(leaf)
		if err != nil {
			s.cannotReissue(leaf, err)
			continue
		}
		fresh, err := reissue(leaf.Certificate, key, s.mapping, rand)
		if err == nil {
			err = verifyLeaf(leaf.Certificate, fresh, issuer, s.pki.keyBeside(leaf), s.mapping)
		}
		if err != nil {
			return fmt.Errorf("re-issue the certificate of %q in %s: %w", leaf.Subject, leaf.places[0].where, err)
		}
		leaf.reissued = fresh
		names, _ := mappedNames(fresh, Mapping{})
		item := Reissue{Subject: fresh.Subject.String(), Issuer: fresh.Issuer.String(),
			NotAfter: fresh.NotAfter.UTC().Format(time.RFC3339), Names: names}
		for _, at := range leaf.places {
			item.Places = append(item.Places, at.where)
		}
		s.plan.Certificates = append(s.plan.Certificates, item)
	}
	for _, authorities := range s.pki.cas {
		for _, ca := range authorities {
			if s.pki.affected(ca.Certificate) && !s.mapping.Overlaps() {
				s.keep(ca.places, "is an authority that names an old address; authorities are not changed")
			}
		}
	}
	return nil
}

// cannotReissue decides what a leaf that cannot be signed here means.
func (s *scan) cannotReissue(leaf *certificate, cause error) {
	kubelet := func(at place) bool { return strings.HasPrefix(at.where, kubeletServing) }
	if !slices.ContainsFunc(leaf.places, func(at place) bool { return !kubelet(at) }) {
		s.keep(leaf.places, "the kubelet asks for a new one by CSR: "+cause.Error())
		return
	}
	for _, at := range leaf.places {
		if isEssential(at) {
			s.plan.Blocked = append(s.plan.Blocked, Note{at.where, "cannot be re-issued: " + cause.Error()})
			return
		}
	}
	s.keep(leaf.places, "cannot be re-issued: "+cause.Error())
}

func (s *scan) keep(places []place, why string) {
	for _, at := range places {
		s.plan.Kept = append(s.plan.Kept, Note{at.where, why})
	}
}

func isEssential(at place) bool {
	keys, files := essentialCertificates()
	name := strings.TrimPrefix(at.container, storagePrefix)
	return slices.ContainsFunc(keys, func(p string) bool { return matchKey(p, name) }) ||
		slices.ContainsFunc(files, func(p string) bool { return matchTail(p, at.where) })
}

// assemble turns what was found into writes.
func (s *scan) assemble() error {
	for _, f := range s.files {
		if text := s.pki.replace(f.text); text != f.text {
			f.text, f.changed = text, true
			s.plan.Changes = append(s.plan.Changes, Change{Certificate, f.path, "names an old address"})
		}
		if f.changed {
			s.plan.files = append(s.plan.files, fileWrite{f.path, []byte(f.text), f.mode})
		}
	}
	changed := len(s.plan.files)+len(s.plan.members)+len(s.plan.nodes) > 0
	for _, o := range s.objects {
		if err := s.replaceCertificates(o); err != nil {
			return err
		}
		changed = changed || o.changed
	}
	if changed && !s.mapping.Empty() {
		if err := s.follow(); err != nil {
			return err
		}
	} else {
		s.deletes, s.deleted = nil, nil
	}
	for _, o := range s.objects {
		if o.changed {
			s.plan.edits = append(s.plan.edits, host.Edit{Key: o.key, Value: o.value, ModRevision: o.mod})
		}
	}
	s.plan.edits = append(s.plan.edits, s.deletes...)
	s.plan.Changes = append(s.plan.Changes, s.deleted...)
	for _, m := range s.plan.members {
		s.plan.Changes = append(s.plan.Changes, Change{Member, "etcd member " + m.Name, "peer URL " + strings.Join(m.PeerURLs, ",")})
	}
	for _, n := range s.plan.nodes {
		s.plan.Changes = append(s.plan.Changes, Change{Delete, n.Key, "the kubelet registers the node again"})
	}
	return nil
}

func (s *scan) replaceCertificates(o *object) error {
	return o.edit(func(at []string, text string) (string, bool) {
		if !mayHoldBlobs(text) {
			return text, false
		}
		replaced := s.pki.replace(text)
		if replaced == text {
			return text, false
		}
		s.plan.Changes = append(s.plan.Changes, Change{Certificate, o.key + " " + strings.Join(at, "/"), "names an old address"})
		return replaced, true
	})
}

// follow makes the changes that are made only together with others.
func (s *scan) follow() error {
	for _, f := range s.followers {
		before := f.object.value
		if err := f.rule.apply(s.cfg, s.mapping, s.now, f.object); err != nil {
			return err
		}
		if string(before) == string(f.object.value) {
			continue
		}
		s.plan.Changes = append(s.plan.Changes, Change{Rewrite, f.object.key, f.rule.why})
		if !slices.Contains(s.objects, f.object) {
			s.objects = append(s.objects, f.object)
		}
	}
	return nil
}
