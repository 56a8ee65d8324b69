package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/files"
)

// FakeRecert is the node's host.Recert: it gives everything in the store that carries an old
// address the new one, in one transaction for each key, so that dying in between
// leaves the store half done; then the etcd member, then the etcd pod on disk. It reads the rules "old,new"
// from cn_san_replace_rules; what it finds already new stays untouched.
func (n *Member) FakeRecert() host.Recert { return fakeRecert{n} }

type fakeRecert struct{ n *Member }

// recertConfig is what the fake reads of recert's configuration.
type recertConfig struct {
	Rules []string `json:"cn_san_replace_rules"`
}

// renames maps old addresses to new ones.
type renames map[string]string

func (f fakeRecert) Run(ctx context.Context, configPath string) error {
	rules, err := f.rules(configPath)
	if err != nil {
		return err
	}
	s, err := f.n.Keystore().Open(ctx)
	if err != nil {
		return fmt.Errorf("recert: %w", err)
	}
	err = rules.store(ctx, s)
	if err := errors.Join(err, s.Close(ctx)); err != nil {
		return fmt.Errorf("recert: %w", err)
	}
	return f.pod(rules)
}

func (f fakeRecert) rules(configPath string) (renames, error) {
	data, err := files.Of(f.n.Machine).Read(configPath)
	if err != nil {
		return nil, fmt.Errorf("recert: read configuration: %w", err)
	}
	var c recertConfig
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("recert: decode %s: %w", configPath, err)
	}
	all := renames{}
	for _, rule := range c.Rules {
		from, to, ok := strings.Cut(rule, ",")
		if !ok {
			return nil, fmt.Errorf("recert: rule %q is not \"old,new\"", rule)
		}
		all[from] = to
	}
	return all, nil
}

func (r renames) of(addr string) string {
	if to, ok := r[addr]; ok {
		return to
	}
	return addr
}

// store rewrites the keys and then the member.
func (r renames) store(ctx context.Context, s host.OpenKeystore) error {
	var edits []host.Edit
	err := s.Range(ctx, "", func(kv host.KeyValue) error {
		var have resource
		if json.Unmarshal(kv.Value, &have) != nil {
			return nil
		}
		want := resource{Kind: have.Kind, Addresses: slices.Clone(have.Addresses)}
		for i := range want.Addresses {
			want.Addresses[i] = r.of(want.Addresses[i])
		}
		if !slices.Equal(have.Addresses, want.Addresses) {
			edits = append(edits, host.Edit{Key: kv.Key, Value: encode(want), ModRevision: kv.ModRevision})
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, e := range edits {
		if err := s.Commit(ctx, []host.Edit{e}); err != nil {
			return err
		}
	}
	return r.members(ctx, s)
}

func (r renames) members(ctx context.Context, s host.OpenKeystore) error {
	members, err := s.Members(ctx)
	if err != nil {
		return err
	}
	for _, m := range members {
		for from, to := range r {
			if slices.Contains(m.PeerURLs, PeerURL(from)) {
				if err := s.UpdateMember(ctx, m.ID, []string{PeerURL(to)}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// pod rewrites the etcd pod's manifest.
func (f fakeRecert) pod(rules renames) error {
	data, err := files.Of(f.n.Machine).Read(host.EtcdPodManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	after := string(data)
	for from, to := range rules {
		after = strings.ReplaceAll(after, "//"+URLHost(from)+":", "//"+URLHost(to)+":")
	}
	if after == string(data) {
		return nil
	}
	return files.Of(f.n.Machine).Write(host.EtcdPodManifest, []byte(after), 0o600)
}
