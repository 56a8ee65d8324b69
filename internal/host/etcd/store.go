package etcd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Defaults of Config.
const (
	DefaultRuntimeDir = "/run/lca-etcd"
	defaultStartWait  = 60 * time.Second
	defaultLockWait   = 15 * time.Second
)

// Config says where the data lies and what may run over it. Its zero value is
// right on an OpenShift node.
type Config struct {
	// DataDir is etcd's data directory (host.EtcdData).
	DataDir string
	// RuntimeDir holds sockets and the pid file; it is emptied by every Open. A socket's
	// path may not exceed 107 bytes, so keep it short.
	RuntimeDir string
	// Manifest is the static pod that names the etcd image (host.EtcdPodManifest).
	Manifest string
	// Binary and Podman override the look-up in PATH and /usr/local/bin.
	Binary, Podman string
	// StartWait bounds the time until etcd answers, LockWait the time for which another
	// process may still hold the data.
	StartWait, LockWait time.Duration
	// CGroups is podman's --cgroups; empty leaves it to podman.
	CGroups string
	// Args are further arguments of etcd.
	Args []string
	Log  *slog.Logger
}

// Store is a host.Keystore.
type Store struct{ cfg Config }

var _ host.Keystore = (*Store)(nil)

// New returns a Store; nothing is touched before Open.
func New(cfg Config) *Store {
	setDefault(&cfg.DataDir, host.EtcdData)
	setDefault(&cfg.RuntimeDir, DefaultRuntimeDir)
	setDefault(&cfg.Manifest, host.EtcdPodManifest)
	if cfg.StartWait == 0 {
		cfg.StartWait = defaultStartWait
	}
	if cfg.LockWait == 0 {
		cfg.LockWait = defaultLockWait
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Store{cfg: cfg}
}

func setDefault(s *string, value string) {
	if *s == "" {
		*s = value
	}
}

// Open starts etcd and returns when it serves. What an earlier, killed run left behind (process,
// sockets) is cleared first; data that another process holds is an error.
func (s *Store) Open(ctx context.Context) (host.OpenKeystore, error) {
	if err := s.requireData(); err != nil {
		return nil, err
	}
	run, err := s.chooseLauncher(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.clearRemains(ctx); err != nil {
		return nil, err
	}
	if err := s.prepareRuntimeDir(); err != nil {
		return nil, err
	}
	began := time.Now()
	proc, err := s.startProcess(context.WithoutCancel(ctx), run)
	if err != nil {
		return nil, err
	}
	session, err := s.connectSession(ctx, proc)
	if err != nil {
		proc.kill()
		return nil, err
	}
	s.cfg.Log.Info("etcd opened offline", "op", "keystore-open", "runner", run.name(), "took", time.Since(began).Round(time.Millisecond))
	return session, nil
}

// requireData refuses a directory without a member: etcd would form a new, empty cluster there.
func (s *Store) requireData() error {
	wal := filepath.Join(s.cfg.DataDir, "member", "wal")
	entries, err := os.ReadDir(wal)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && len(entries) == 0) {
		return fmt.Errorf("no etcd member below %s: nothing to open", s.cfg.DataDir)
	}
	if err != nil {
		return fmt.Errorf("find an etcd member: %w", err)
	}
	return nil
}

func (s *Store) prepareRuntimeDir() error {
	dir := s.cfg.RuntimeDir
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("empty the runtime directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the runtime directory: %w", err)
	}
	return nil
}
