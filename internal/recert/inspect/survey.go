package inspect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/certs"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/replace"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// Survey is a cluster that is read once: its certificates and keys, and the changes that the configuration asks for.
type Survey struct {
	Config  config.Config
	Mapping replace.Mapping
	Now     time.Time
	// Record is of an earlier run; a place that it settles is not changed again.
	Record config.Record
	PKI    *certs.PKI
	// tokens are collected for an inventory only.
	wantTokens bool

	Nodes     []Node
	Peers     []string       // URLs of etcd's own member
	Objects   []*wire.Object // changed, or holding a certificate to re-issue
	Files     []*File
	Followers []Follower
	Removals  []Removal
	Members   []host.StoreMember // with the peer URLs that they get
	Hashing   []*wire.Object     // deployments with hashes of what they were made from
	OLMBundle string             // authority of the packageserver
	encrypted map[string]int     // objects that cannot be read, by resource
	unread    map[string]int     // the same, of those that no rule names
	Seen      map[string]bool    // patterns of object rules that matched, and files
	// byAddress are the places that change because of a name or an address in them.
	byAddress map[string]bool
	// Named are objects that already have the key that a rename gives another.
	Named map[string]host.KeyValue

	Changes         []Change
	Kept, Leftovers []Note
	NotRead         []Note // what could not be looked into
	tokens          []Token

	rules rules.Rulebook
}

// Follower is a change that is made only if there are others.
type Follower struct {
	Rule   rules.ObjectRule
	Object *wire.Object
}

// Removal is an object that a run deletes if it changes anything else.
type Removal struct {
	Object *wire.Object
	Why    string
}

// NewSurvey finds out what the old addresses and names are.
func NewSurvey(ctx context.Context, cfg config.Config, store host.OpenKeystore, now time.Time) (*Survey, error) {
	nodes, err := readNodes(ctx, store)
	if err != nil {
		return nil, fmt.Errorf("read the Node objects: %w", err)
	}
	mapping, err := resolveMapping(cfg, nodes)
	if err != nil {
		return nil, fmt.Errorf("find the old addresses: %w", err)
	}
	renamed, err := resolveNode(ctx, cfg, nodes, store)
	if err != nil {
		return nil, fmt.Errorf("find the node's old name: %w", err)
	}
	cluster, err := resolveCluster(ctx, cfg, store)
	if err != nil {
		return nil, fmt.Errorf("find the cluster's old name: %w", err)
	}
	s := &Survey{Config: cfg, rules: rules.NewRulebook(cluster), Mapping: mapping.WithNames(cfg.Names, renamed, cluster),
		Now: now, Nodes: nodes, encrypted: map[string]int{}, unread: map[string]int{},
		Seen: map[string]bool{}, byAddress: map[string]bool{}, Named: map[string]host.KeyValue{}}
	s.PKI = certs.NewPKI(s.Mapping)
	s.PKI.Frozen = cfg.PostprocessOnly
	if cfg.NewKeys {
		s.rules.Crypto = []string{"", rules.AggregatedPrefix} // a key may be anywhere
		s.PKI.ReplaceEveryKey()
	}
	return s, nil
}

// Read visits everything once.
func (s *Survey) Read(ctx context.Context, store host.OpenKeystore, files host.Files) error {
	if err := s.readStore(ctx, store); err != nil {
		return fmt.Errorf("read the store: %w", err)
	}
	if err := s.readDisk(ctx, files); err != nil {
		return fmt.Errorf("read the disk: %w", err)
	}
	s.reportMentions()
	return s.planMember(ctx, store)
}

// planMember maps the peer URLs of etcd's own member.
func (s *Survey) planMember(ctx context.Context, store host.OpenKeystore) error {
	members, err := store.Members(ctx)
	if err != nil {
		return fmt.Errorf("list etcd's members: %w", err)
	}
	if len(members) != 1 {
		return fmt.Errorf("etcd has %d members: only a single-node cluster can be moved", len(members))
	}
	m := members[0]
	s.Peers = m.PeerURLs
	if s.Record.Settled(config.MemberLocation, []byte(strings.Join(m.PeerURLs, ","))) {
		return nil
	}
	urls, changed := make([]string, len(m.PeerURLs)), false
	for i, u := range m.PeerURLs {
		urls[i] = s.Mapping.Text(u)
		changed = changed || urls[i] != u
	}
	if changed {
		s.Members = append(s.Members, host.StoreMember{ID: m.ID, Name: m.Name, PeerURLs: urls})
	}
	return nil
}

// AddChange adds what changes in a place.
func (s *Survey) AddChange(kind Kind, where, why string) {
	s.Changes = append(s.Changes, Change{kind, where, why})
}

// Ports are where a cluster is read from.
type Ports struct {
	Keystore host.Keystore
	Files    host.Files
	Clock    func() time.Time
}

// withSurvey reads the whole cluster, every certificate included. The record of a run is used only where addresses overlap.
func withSurvey(ctx context.Context, p Ports, cfg config.Config, record config.Record, use func(*Survey) error) (err error) {
	store, err := p.Keystore.Open(ctx)
	if err != nil {
		return fmt.Errorf("open the cluster's store: %w", err)
	}
	defer func() { err = errors.Join(err, store.Close(ctx)) }()
	s, err := NewSurvey(ctx, cfg, store, p.Clock())
	if err != nil {
		return err
	}
	s.PKI.All, s.wantTokens = true, true
	if s.Mapping.Overlaps() {
		s.Record = record
	}
	if err := s.Read(ctx, store, p.Files); err != nil {
		return err
	}
	if err := s.readRest(ctx, store); err != nil {
		return fmt.Errorf("search the store for mentions: %w", err)
	}
	return use(s)
}

// Keep adds what is kept, and why.
func (s *Survey) Keep(where, why string) { s.Kept = append(s.Kept, Note{where, why}) }
