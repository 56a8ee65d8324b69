package etcd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/machine"
)

// Keystore is the node's host.Keystore.
func (n *Member) Keystore() host.Keystore { return keystore{n, ""} }

// keystore is over the data of the system that runs, or of a copy below root.
type keystore struct {
	n    *Member
	root string
}

func (k keystore) Open(context.Context) (host.OpenKeystore, error) {
	n := k.n
	n.Enter()
	defer n.Unlock()
	if n.running() && k.root == "" {
		return nil, errors.New("open etcd data: the cluster's etcd runs on it")
	}
	file := path.Join(k.root, storeFile)
	if err := n.Change("keystore.open", file); err != nil {
		return nil, err
	}
	s, err := n.Store(k.root)
	if err != nil {
		return nil, fmt.Errorf("open etcd data: %w", err)
	}
	return &session{n: n, file: file, store: s, life: n.Life}, nil
}

// session is one run of etcd; each transaction is in the file before it returns.
type session struct {
	n      *Member
	file   string
	store  Store
	life   int
	closed bool
}

func (s *session) begin() error {
	s.n.Enter()
	if s.closed || s.life != s.n.Life {
		s.n.Unlock()
		return errors.New("etcd session is closed")
	}
	return nil
}

func (s *session) Range(ctx context.Context, prefix string, fn func(host.KeyValue) error) error {
	if err := s.begin(); err != nil {
		return err
	}
	var found []host.KeyValue
	for _, key := range slices.Sorted(maps.Keys(s.store.Keys)) {
		if v := s.store.Keys[key]; strings.HasPrefix(key, prefix) {
			found = append(found, host.KeyValue{Key: key, Value: slices.Clone(v.Value), ModRevision: v.Revision})
		}
	}
	s.n.Unlock()
	for _, kv := range found {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := fn(kv); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) Commit(_ context.Context, edits []host.Edit) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.n.Unlock()
	for batch := range slices.Chunk(edits, s.n.batch) {
		next, err := s.store.with(batch)
		if err != nil {
			return err
		}
		if err := s.write("keystore.commit", next); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) write(op string, next Store) error {
	if err := s.n.Change(op, s.file); err != nil {
		return err
	}
	if err := s.n.WriteDurable(s.file, machine.Secret(string(encode(next)))); err != nil {
		return err
	}
	s.store = next
	return nil
}

func (s *session) Members(context.Context) ([]host.StoreMember, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.n.Unlock()
	return slices.Clone(s.store.Members), nil
}

func (s *session) UpdateMember(_ context.Context, id uint64, peerURLs []string) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.n.Unlock()
	next := s.store
	next.Members = slices.Clone(next.Members)
	for i := range next.Members {
		if next.Members[i].ID == id {
			next.Members[i].PeerURLs = slices.Clone(peerURLs)
			return s.write("keystore.member", next)
		}
	}
	return fmt.Errorf("update etcd member %x: no such member", id)
}

// Defragment writes the keys: this store has no history.
func (s *session) Defragment(context.Context) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.n.Unlock()
	return s.write("keystore.defragment", s.store)
}

func (s *session) Close(context.Context) error {
	if s.begin() != nil {
		return nil
	}
	defer s.n.Unlock()
	s.closed = true
	return nil
}
