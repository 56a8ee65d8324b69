package recert

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

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
	if len(nodes) == 0 {
		s.refuseUnsaid()
	}
	if err := s.planServerKeys(p.Files, p.Rand); err != nil {
		return nil, err
	}
	s.refuseEncrypted()
	s.refuseHomeless()
	s.judgeUnread()
	if len(s.plan.Blocked) > 0 {
		return s.plan, nil
	}
	s.planNodes(nodes)
	if err := s.reissueAll(p); err != nil {
		return nil, err
	}
	if err := s.assemble(); err != nil {
		return nil, err
	}
	if cfg.Defragment {
		s.plan.defrag = true
		s.plan.Changes = append(s.plan.Changes, Change{Defragment, "etcd", "its history is dropped and the space given back"})
	}
	return s.plan, nil
}

// reissueAll signs again what has to be.
func (s *scan) reissueAll(p Ports) error {
	if s.cfg.reissuesTrees() {
		return s.reissueTrees(p.Files, p.Rand)
	}
	return s.reissueLeaves(p.Files, p.Rand)
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
	renamed, err := resolveNode(ctx, cfg, nodes, store)
	if err != nil {
		return nil, nil, err
	}
	cluster, err := resolveCluster(ctx, cfg, store)
	if err != nil {
		return nil, nil, err
	}
	s := &scan{cfg: cfg, rules: newRulebook(cluster), mapping: mapping.withNames(cfg.Names, renamed, cluster),
		now: p.Clock(), log: p.Log, resume: resume, encrypted: map[string]int{},
		met: map[string]bool{}, byAddress: map[string]bool{}, named: map[string]host.KeyValue{},
		made: newKeys{map[string]string{}, map[string]bool{}},
		plan: &Plan{Addresses: mapping.Changes()}}
	if !renamed.empty() {
		s.plan.Node = &renamed
	}
	if !cluster.empty() {
		s.plan.Cluster = &cluster
	}
	s.pki = newPKI(s.mapping)
	s.pki.all, s.pki.frozen = cfg.reissuesTrees(), cfg.PostprocessOnly
	return s, nodes, nil
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
	s.peers = m.PeerURLs
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

// refuseUnsaid blocks a plan without a Node that could say what a new address replaces, unless an earlier run has finished: then etcd's
// member has the new address.
func (s *scan) refuseUnsaid() {
	for _, fresh := range s.cfg.IPs {
		said := slices.ContainsFunc(s.cfg.Replace, func(c AddressChange) bool { return c.Old.Is4() == fresh.Is4() })
		for _, text := range s.peers {
			at, err := netip.ParseAddrPort(strings.TrimPrefix(text, "https://"))
			if !said && err == nil && at.Addr().Is4() == fresh.Is4() && at.Addr() != fresh {
				why := fmt.Sprintf("is at %s, and there is no Node that says whether %s replaces that: name both in cn_san_replace_rules",
					at.Addr(), fresh)
				s.plan.Blocked = append(s.plan.Blocked, Note{memberLocation, why})
			}
		}
	}
}

// planNodes deletes the Node objects that carry an old address or name.
func (s *scan) planNodes(nodes []node) {
	for _, n := range nodes {
		old := slices.ContainsFunc(n.addresses, func(text string) bool {
			_, ok := s.mapping.Host(text)
			return ok
		})
		if old || s.mapping.node.ownsKey(n.Key) {
			s.plan.nodes = append(s.plan.nodes, host.Edit{Key: n.Key, Delete: true, ModRevision: n.ModRevision})
		}
	}
}
