package hosttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

const (
	storeFile = host.EtcdData + "/member/snap/db"
	// storeInUse lies beside the data while the cluster runs and names the stateroot it
	// runs in. Found in another one, it gives away data that was copied while in use.
	storeInUse = host.EtcdData + "/member/wal/in-use"
)

// ErrHotCopy marks etcd data that was copied while etcd wrote to it.
var ErrHotCopy = errors.New("etcd data was copied while in use")

// store is the cluster's etcd data as the file keeps it.
type store struct {
	Revision int64                  `json:"revision"`
	Keys     map[string]storedValue `json:"keys"`
	Members  []host.StoreMember     `json:"members"`
}

type storedValue struct {
	Value    []byte `json:"value"`
	Revision int64  `json:"revision"`
}

// resource is the value of a key that carries the node's addresses.
type resource struct {
	Kind      string   `json:"kind"`
	Addresses []string `json:"addresses,omitempty"`
}

// nodeKey holds the addresses of the node in the cluster's store.
const nodeKey = "/kubernetes.io/minions/" + nodeName

// firstStore is the data of a healthy cluster.
func (n *Node) firstStore() string {
	s := store{Revision: 100, Keys: map[string]storedValue{}, Members: []host.StoreMember{{
		ID: 0xa1, Name: nodeName, PeerURLs: []string{peerURL(n.options.Addresses[0].Addr().String())},
	}}}
	var addrs []string
	for _, a := range n.options.Addresses {
		addrs = append(addrs, a.Addr().String())
	}
	for key, kind := range map[string]string{
		nodeKey: "Node",
		"/kubernetes.io/configmaps/openshift-etcd/etcd-endpoints":                       "ConfigMap",
		"/kubernetes.io/configmaps/openshift-kube-apiserver/config":                     "ConfigMap",
		"/kubernetes.io/operator.openshift.io/kubeapiservers/cluster":                   "KubeAPIServer",
		"/kubernetes.io/secrets/openshift-etcd/etcd-peer-" + nodeName:                   "Secret",
		"/kubernetes.io/secrets/openshift-etcd/etcd-serving-" + nodeName:                "Secret",
		"/kubernetes.io/secrets/openshift-etcd/etcd-serving-metrics-" + nodeName:        "Secret",
		"/kubernetes.io/secrets/openshift-kube-apiserver/internal-loadbalancer-serving": "Secret",
	} {
		s.Revision++
		s.Keys[key] = storedValue{encode(resource{kind, addrs}), s.Revision}
	}
	s.Keys["/kubernetes.io/configmaps/kube-system/root-ca"] = storedValue{encode(resource{Kind: "ConfigMap"}), 1}
	return string(encode(s))
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic("hosttest: " + err.Error()) // plain structs always encode
	}
	return data
}

// readStore reads the data as etcd would at its start; stateroot names where path p lies.
func (n *Node) readStore(p string) (store, error) {
	var s store
	data, err := n.readFile(p)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("etcd data is corrupt: %w", err)
	}
	return s, nil
}

func (n *Node) openStore(root string) (store, error) {
	if by, err := n.readFile(path.Join(root, storeInUse)); err == nil && (root != "" || string(by) != n.booted.stateroot) {
		return store{}, ErrHotCopy
	}
	return n.readStore(path.Join(root, storeFile))
}

// Keystore is the node's host.Keystore.
func (n *Node) Keystore() host.Keystore { return keystore{n, ""} }

// keystore is over the data of the system that runs, or of a copy below root.
type keystore struct {
	n    *Node
	root string
}

func (k keystore) Open(context.Context) (host.OpenKeystore, error) {
	n := k.n
	n.lock()
	defer n.mu.Unlock()
	if n.containers && k.root == "" {
		return nil, errors.New("open etcd data: the cluster's etcd runs on it")
	}
	file := path.Join(k.root, storeFile)
	if err := n.op("keystore.open", file); err != nil {
		return nil, err
	}
	s, err := n.openStore(k.root)
	if err != nil {
		return nil, fmt.Errorf("open etcd data: %w", err)
	}
	return &session{n: n, file: file, store: s, life: n.life}, nil
}

// session is one run of etcd; each transaction is in the file before it returns.
type session struct {
	n      *Node
	file   string
	store  store
	life   int
	closed bool
}

func (s *session) begin() error {
	s.n.lock()
	if s.closed || s.life != s.n.life {
		s.n.mu.Unlock()
		return errors.New("etcd session is closed")
	}
	return nil
}

func (s *session) Range(ctx context.Context, prefix string, fn func(host.KeyValue) error) error {
	if err := s.begin(); err != nil {
		return err
	}
	var found []host.KeyValue
	for _, key := range sorted(s.store.Keys) {
		if v := s.store.Keys[key]; strings.HasPrefix(key, prefix) {
			found = append(found, host.KeyValue{Key: key, Value: slices.Clone(v.Value), ModRevision: v.Revision})
		}
	}
	s.n.mu.Unlock()
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
	defer s.n.mu.Unlock()
	for batch := range slices.Chunk(edits, s.n.options.StoreBatch) {
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

// with is the store after one transaction.
func (s store) with(edits []host.Edit) (store, error) {
	next := store{Revision: s.Revision + 1, Keys: map[string]storedValue{}, Members: s.Members}
	for k, v := range s.Keys {
		next.Keys[k] = v
	}
	for _, e := range edits {
		if s.Keys[e.Key].Revision != e.ModRevision {
			return s, fmt.Errorf("commit to etcd: key %s has revision %d, not %d: it was changed meanwhile",
				e.Key, s.Keys[e.Key].Revision, e.ModRevision)
		}
		if e.Delete {
			delete(next.Keys, e.Key)
		} else {
			next.Keys[e.Key] = storedValue{slices.Clone(e.Value), next.Revision}
		}
	}
	return next, nil
}

func (s *session) write(op string, next store) error {
	if err := s.n.op(op, s.file); err != nil {
		return err
	}
	if err := s.n.writeDurable(s.file, secret(string(encode(next)))); err != nil {
		return err
	}
	s.store = next
	return nil
}

func (s *session) Members(context.Context) ([]host.StoreMember, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.n.mu.Unlock()
	return slices.Clone(s.store.Members), nil
}

func (s *session) UpdateMember(_ context.Context, id uint64, peerURLs []string) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.n.mu.Unlock()
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
	defer s.n.mu.Unlock()
	return s.write("keystore.defragment", s.store)
}

func (s *session) Close(context.Context) error {
	if s.begin() != nil {
		return nil
	}
	defer s.n.mu.Unlock()
	s.closed = true
	return nil
}
