package etcd

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/machine"
)

// Store is the cluster's etcd data as the file keeps it.
type Store struct {
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
const nodeKey = "/kubernetes.io/minions/" + NodeName

// Installed is the data of a healthy cluster on a node with these addresses, the primary one first.
func Installed(addresses []netip.Prefix) machine.Inode {
	s := Store{Revision: 100, Keys: map[string]storedValue{}, Members: []host.StoreMember{{
		ID: 0xa1, Name: NodeName, PeerURLs: []string{PeerURL(addresses[0].Addr().String())},
	}}}
	var addrs []string
	for _, a := range addresses {
		addrs = append(addrs, a.Addr().String())
	}
	for key, kind := range map[string]string{
		nodeKey: "Node",
		"/kubernetes.io/configmaps/openshift-etcd/etcd-endpoints":                       "ConfigMap",
		"/kubernetes.io/configmaps/openshift-kube-apiserver/config":                     "ConfigMap",
		"/kubernetes.io/operator.openshift.io/kubeapiservers/cluster":                   "KubeAPIServer",
		"/kubernetes.io/secrets/openshift-etcd/etcd-peer-" + NodeName:                   "Secret",
		"/kubernetes.io/secrets/openshift-etcd/etcd-serving-" + NodeName:                "Secret",
		"/kubernetes.io/secrets/openshift-etcd/etcd-serving-metrics-" + NodeName:        "Secret",
		"/kubernetes.io/secrets/openshift-kube-apiserver/internal-loadbalancer-serving": "Secret",
	} {
		s.Revision++
		s.Keys[key] = storedValue{encode(resource{kind, addrs}), s.Revision}
	}
	s.Keys["/kubernetes.io/configmaps/kube-system/root-ca"] = storedValue{encode(resource{Kind: "ConfigMap"}), 1}
	return machine.Secret(string(encode(s)))
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic("hosttest: " + err.Error()) // plain structs always encode
	}
	return data
}

// with is the store after one transaction.
func (s Store) with(edits []host.Edit) (Store, error) {
	next := Store{Revision: s.Revision + 1, Keys: map[string]storedValue{}, Members: s.Members}
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

// Consistent says whether everything in the store is for exactly the given addresses.
func (s Store) Consistent(addrs []string) error {
	if len(addrs) == 0 {
		return errors.New("the node has no address")
	}
	for _, key := range slices.Sorted(maps.Keys(s.Keys)) {
		var r resource
		if err := json.Unmarshal(s.Keys[key].Value, &r); err != nil || r.Addresses == nil {
			continue
		}
		if !sameSet(r.Addresses, addrs) {
			return fmt.Errorf("key %s is for %v, the node has %v", key, r.Addresses, addrs)
		}
	}
	for _, m := range s.Members {
		if !slices.Contains(m.PeerURLs, PeerURL(addrs[0])) {
			return fmt.Errorf("etcd member %s is at %v, the node at %s", m.Name, m.PeerURLs, addrs[0])
		}
	}
	return nil
}

func sameSet(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// addresses lists every address the store mentions, once, sorted.
func (s Store) addresses() []string {
	found := map[string]bool{}
	for _, v := range s.Keys {
		var r resource
		if json.Unmarshal(v.Value, &r) == nil {
			for _, a := range r.Addresses {
				found[a] = true
			}
		}
	}
	for _, m := range s.Members {
		for _, u := range m.PeerURLs {
			host := strings.TrimSuffix(strings.TrimPrefix(u, "https://"), ":2380")
			found[strings.Trim(host, "[]")] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// URLHost is the address as a URL's host.
func URLHost(ip string) string {
	if strings.Contains(ip, ":") {
		return "[" + ip + "]"
	}
	return ip
}

// PeerURL is where a member at the address listens to others.
func PeerURL(ip string) string { return "https://" + net.JoinHostPort(ip, "2380") }
