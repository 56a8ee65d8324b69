package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/replace"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// Node is a Node object and its internal addresses.
type Node struct {
	host.KeyValue
	Addresses []string
}

func readNodes(ctx context.Context, store host.OpenKeystore) ([]Node, error) {
	var out []Node
	err := store.Range(ctx, rules.StoragePrefix+rules.NodePrefix, func(kv host.KeyValue) error {
		o, err := wire.NewObject(kv)
		if err != nil {
			return err // nodes are never encrypted
		}
		n := Node{KeyValue: kv}
		kinds := map[string]string{}
		err = o.Walk(func(at []string, text string) {
			if wire.MatchPath([]string{"status", "addresses", "*", "type"}, at) {
				kinds[at[2]] = text
			}
			if wire.MatchPath([]string{"status", "addresses", "*", "address"}, at) && kinds[at[2]] == "InternalIP" {
				n.Addresses = append(n.Addresses, text)
			}
		})
		out = append(out, n)
		return err
	})
	return out, err
}

// resolveMapping takes the old addresses from the explicit rules and, for families they do not cover, from the
// Node object. Without a Node an earlier run has finished.
func resolveMapping(cfg config.Config, nodes []Node) (replace.Mapping, error) {
	changes := slices.Clone(cfg.Replace)
	for _, fresh := range cfg.IPs {
		explicit := slices.IndexFunc(cfg.Replace, func(c replace.Address) bool { return c.Old.Is4() == fresh.Is4() })
		if explicit >= 0 {
			if !slices.ContainsFunc(cfg.Replace, func(c replace.Address) bool { return c.New == fresh || c.Old == fresh }) {
				return replace.Mapping{}, fmt.Errorf("the new address %s is not a result of cn_san_replace_rules", fresh)
			}
			continue
		}
		if len(nodes) == 0 {
			continue
		}
		if len(nodes) > 1 {
			return replace.Mapping{}, fmt.Errorf("%d Node objects: cn_san_replace_rules must say what %s replaces", len(nodes), fresh)
		}
		old, err := nodeAddress(nodes[0], fresh.Is4())
		if err != nil {
			return replace.Mapping{}, fmt.Errorf("the new address %s: %w", fresh, err)
		}
		changes = append(changes, replace.Address{Old: old, New: fresh})
	}
	return replace.NewMapping(changes)
}

// nodeAddress is the node's one internal address of the family.
func nodeAddress(n Node, is4 bool) (netip.Addr, error) {
	for _, text := range n.Addresses {
		a, err := netip.ParseAddr(text)
		if err == nil && a.Is4() == is4 {
			return a, nil
		}
	}
	return netip.Addr{}, errors.New("the Node object has no internal address of its family to replace")
}

// resolveNode finds the node's name: in its Node, or, where an earlier run deleted that, in the name of etcd's peer certificate.
func resolveNode(ctx context.Context, cfg config.Config, nodes []Node, store host.OpenKeystore) (replace.Name, error) {
	if cfg.Hostname == "" {
		return replace.Name{}, nil
	}
	names := map[string]bool{}
	for _, n := range nodes {
		names[path.Base(n.Key)] = true
	}
	if len(names) == 0 {
		const peer = rules.StoragePrefix + "secrets/openshift-etcd/etcd-peer-"
		err := store.Range(ctx, peer, func(kv host.KeyValue) error {
			names[strings.TrimPrefix(kv.Key, peer)] = true
			return nil
		})
		if err != nil {
			return replace.Name{}, err
		}
	}
	switch len(names) {
	case 0:
		return replace.Name{}, errors.New("hostname: neither a Node nor a peer certificate of etcd says what the node is called now")
	case 1:
		for old := range names {
			return replace.Name{Old: old, New: cfg.Hostname}, nil
		}
	}
	return replace.Name{}, fmt.Errorf("hostname: the cluster has %d nodes; only that of a single-node cluster can be renamed", len(names))
}

// resolveCluster finds the cluster's name.
func resolveCluster(ctx context.Context, cfg config.Config, store host.OpenKeystore) (replace.Cluster, error) {
	if cfg.Cluster == nil {
		return replace.Cluster{}, nil
	}
	zone, err := textAt(ctx, store, rules.ClusterDNS, "spec/baseDomain")
	if err != nil {
		return replace.Cluster{}, err
	}
	infra, err := textAt(ctx, store, rules.ClusterInfra, "status/infrastructureName")
	if err != nil {
		return replace.Cluster{}, err
	}
	if zone == "" || infra == "" {
		return replace.Cluster{}, errors.New("cluster_rename: DNS cluster (spec.baseDomain) and " +
			"Infrastructure cluster (status.infrastructureName) must say what the cluster is called now, and one of them does not")
	}
	return replace.Cluster{Zone: replace.Name{Old: zone, New: cfg.Cluster.Name + "." + cfg.Cluster.Domain},
		Infra: replace.Name{Old: infra, New: cmp.Or(cfg.Cluster.InfraID, infra)}}, nil
}

// textAt is one text of one object; empty if it is not there.
func textAt(ctx context.Context, store host.OpenKeystore, name, field string) (text string, err error) {
	err = store.Range(ctx, rules.StoragePrefix+name, func(kv host.KeyValue) error {
		if kv.Key != rules.StoragePrefix+name {
			return nil
		}
		o, err := wire.NewObject(kv)
		if err != nil {
			return err
		}
		return o.Walk(func(at []string, value string) {
			if wire.MatchPath(wire.FieldPath(field), at) {
				text = value
			}
		})
	})
	return text, err
}
