package etcd

import (
	"context"
	"errors"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

const (
	// fillerKey is written until etcd begins another file of its log.
	fillerKey = "/lca/filler"
	// fillerSize times fillerCount is more than the 64 MiB at which it does.
	fillerSize  = 1 << 20
	fillerCount = 68
)

// Purge removes from the log of stopped etcd data what was overwritten or deleted, and from its database the history.
// Neither keys nor the member's identity change. etcd has no command for it: the log's files are of a fixed size, and the
// old ones go when a snapshot is newer than all that they hold. So one run fills the rest of the current file while it
// makes snapshots, and the next one drops the files before the last snapshot.
func Purge(ctx context.Context, cfg Config) error {
	cfg.Args = []string{"--snapshot-count", "1", "--max-wals", "1", "--max-snapshots", "1"}
	for _, do := range []func(context.Context, host.OpenKeystore) error{writeFiller, defragmentStore} {
		if err := withStore(ctx, cfg, do); err != nil {
			return fmt.Errorf("purge the log of etcd: %w", err)
		}
	}
	return nil
}

func withStore(ctx context.Context, cfg Config, do func(context.Context, host.OpenKeystore) error) error {
	store, err := New(cfg).Open(ctx)
	if err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	return errors.Join(do(ctx, store), store.Close(ctx))
}

// defragmentStore drops the history.
func defragmentStore(ctx context.Context, store host.OpenKeystore) error {
	return store.Defragment(ctx)
}

// writeFiller writes the filler and removes it again.
func writeFiller(ctx context.Context, store host.OpenKeystore) error {
	filler := make([]byte, fillerSize)
	for range fillerCount {
		at, err := fillerRevision(ctx, store)
		if err != nil {
			return err
		}
		if err := store.Commit(ctx, []host.Edit{{Key: fillerKey, Value: filler, ModRevision: at}}); err != nil {
			return fmt.Errorf("write the filler: %w", err)
		}
	}
	at, err := fillerRevision(ctx, store)
	if err != nil {
		return err
	}
	return store.Commit(ctx, []host.Edit{{Key: fillerKey, Delete: true, ModRevision: at}})
}

func fillerRevision(ctx context.Context, store host.OpenKeystore) (at int64, err error) {
	err = store.Range(ctx, fillerKey, func(kv host.KeyValue) error {
		at = kv.ModRevision
		return nil
	})
	return at, err
}
