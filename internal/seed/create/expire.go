package create

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
)

// recertFile is the configuration of recert, in the copy.
const recertFile = "/var/lib/lca/recert_config.json"

// lockedHash is a password hash that no password has.
const lockedHash = "$2a$10$" + "....................................................."

// Keys of objects that recert rewrites only where they are.
const (
	pullSecretKey = seed.StoragePrefix + "secrets/openshift-config/pull-secret"
	kubeadminKey  = seed.StoragePrefix + "secrets/kube-system/kubeadmin"
)

// expireCopy makes the copy fit to ship. Each part of it can be repeated.
func (g *generation) expireCopy(ctx context.Context) error {
	files := g.Copies.Files(g.systemDir())
	have, err := g.dropObjects(ctx)
	if err == nil {
		err = g.noteSeen(ctx)
	}
	if err != nil {
		return err
	}
	config, err := json.Marshal(g.recertConfig(files, have))
	if err != nil {
		return fmt.Errorf("encode the configuration of recert: %w", err)
	}
	if err := files.Write(recertFile, config, 0o600); err != nil {
		return fmt.Errorf("write the configuration of recert: %w", err)
	}
	if err := g.Copies.Recert(g.systemDir()).Run(ctx, recertFile); err != nil {
		return fmt.Errorf("expire the certificates of the copy: %w", err)
	}
	sweep, err := g.newSweep()
	if err != nil {
		return err
	}
	if err := sweep.sweepStore(ctx); err != nil {
		return err
	}
	if err := g.Copies.Purge(ctx, g.systemDir()); err != nil {
		return fmt.Errorf("purge the log of etcd in the copy: %w", err)
	}
	if err := g.scrubFiles(files); err != nil {
		return err
	}
	if err := sweep.sweepFiles(ctx); err != nil {
		return err
	}
	return sweep.writeReport()
}

// recertConfig asks for other keys, certificates that have expired, other SSH host keys, and none of the seed's credentials.
func (g *generation) recertConfig(files host.Files, have map[string]bool) map[string]any {
	dirs := []string{"/kubelet", "/kubernetes", "/machine-config-daemon", "/host-etc/cni", "/host-etc/crio", "/host-etc/containers"}
	c := map[string]any{
		"new_keys": true, "force_expire": true, "etcd_defrag": true, "crypto_dirs": dirs, "cluster_customization_dirs": dirs,
		"crypto_files": []string{"/host-etc/mcs-machine-config-content.json"}, "summary_file": "/var/lib/lca/recert-summary.yaml",
	}
	if have[pullSecretKey] && fileExists(files, host.KubeletConfigJSON) {
		c["pull_secret"] = seed.PlaceholderPullSecret
	}
	if have[kubeadminKey] {
		c["kubeadmin_password_hash"] = lockedHash
	}
	if names, err := files.List("/etc/ssh"); err == nil {
		for _, n := range names {
			if strings.HasPrefix(n, "ssh_host_") && strings.HasSuffix(n, "_key") {
				c["regenerate_server_ssh_keys"] = "/etc/ssh"
			}
		}
	}
	return c
}

func fileExists(files host.Files, file string) bool {
	_, err := files.Stat(file)
	return err == nil
}

// dropObjects removes from the copy's etcd what must not ship, and says which of the objects that recert would
// rewrite are there.
func (g *generation) dropObjects(ctx context.Context) (have map[string]bool, err error) {
	store, err := g.Copies.Keystore(g.systemDir()).Open(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the copy's etcd: %w", err)
	}
	have, err = g.dropFrom(ctx, store)
	if cerr := store.Close(ctx); err == nil && cerr != nil {
		err = fmt.Errorf("close the copy's etcd: %w", cerr)
	}
	return have, err
}

func (g *generation) dropFrom(ctx context.Context, store host.OpenKeystore) (map[string]bool, error) {
	selections := append(seed.Shipped(), g.request.Drop...)
	var edits []host.Edit
	have := map[string]bool{}
	err := store.Range(ctx, "/", func(kv host.KeyValue) error {
		if kv.Key == pullSecretKey || kv.Key == kubeadminKey {
			have[kv.Key] = true
		}
		if slices.ContainsFunc(selections, func(o seed.Object) bool { return o.Selects(kv.Key) }) {
			edits = append(edits, host.Edit{Key: kv.Key, Delete: true, ModRevision: kv.ModRevision})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the copy's etcd: %w", err)
	}
	if err := store.Commit(ctx, edits); err != nil {
		return nil, fmt.Errorf("drop objects from the copy's etcd: %w", err)
	}
	g.Log.Info("dropped objects from the copy", "count", len(edits))
	return have, nil
}
