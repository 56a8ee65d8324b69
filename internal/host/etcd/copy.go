package etcd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// Copy copies the data of the running etcd from its directory into another one, as a power cut now would leave it: etcd opens the copy as
// the same member, with every key that was written before Copy was called. The running etcd is only read.
//
// The order makes the parts fit: the log, copied last, reaches beyond the database, and the database beyond the snapshots of the log.
func (l *Live) Copy(ctx context.Context, from, to string) error {
	security, err := l.tlsConfig()
	if err != nil {
		return err
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{l.cfg.Endpoint}, TLS: security, Logger: zap.NewNop()})
	if err != nil {
		return fmt.Errorf("make an etcd client: %w", err)
	}
	defer func() { _ = client.Close() }() // it only read
	if err := os.RemoveAll(to); err != nil {
		return fmt.Errorf("empty %s: %w", to, err)
	}
	snapshots, log := filepath.Join("member", "snap"), filepath.Join("member", "wal")
	for _, dir := range []string{snapshots, log} {
		if err := os.MkdirAll(filepath.Join(to, dir), 0o700); err != nil {
			return fmt.Errorf("make the copy of etcd's data: %w", err)
		}
	}
	if err := copyFiles(ctx, filepath.Join(from, snapshots), filepath.Join(to, snapshots), ".snap"); err != nil {
		return err
	}
	if err := saveDatabase(ctx, client, filepath.Join(to, snapshots, "db")); err != nil {
		return err
	}
	return copyFiles(ctx, filepath.Join(from, log), filepath.Join(to, log), ".wal")
}

// copyFiles copies the files of a folder whose names end so.
func copyFiles(ctx context.Context, from, to, suffix string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return fmt.Errorf("list etcd's files: %w", err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), suffix) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("copy etcd's files: %w", err)
		}
		if err := copyFile(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return fmt.Errorf("copy etcd's files: %w", err)
		}
	}
	return nil
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, in)
	return err
}

// saveDatabase writes etcd's snapshot of its database, which ends with a hash of what comes before.
func saveDatabase(ctx context.Context, client *clientv3.Client, to string) (err error) {
	in, err := client.Snapshot(ctx)
	if err != nil {
		return fmt.Errorf("ask etcd for a snapshot: %w", err)
	}
	defer func() { _ = in.Close() }() // it was only read
	out, err := os.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("make the copy of etcd's database: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	w := &hashedWriter{out: out, sum: sha256.New()}
	if _, err := io.Copy(w, in); err != nil {
		return fmt.Errorf("receive etcd's snapshot: %w", err)
	}
	if !w.isComplete() {
		return errors.New("receive etcd's snapshot: it is not as its hash says")
	}
	return nil
}

// hashedWriter writes everything but the last 32 bytes, which are the hash of the rest.
type hashedWriter struct {
	out  io.Writer
	sum  hash.Hash
	held []byte
}

func (w *hashedWriter) Write(p []byte) (int, error) {
	w.held = append(w.held, p...)
	n := len(w.held) - sha256.Size
	if n <= 0 {
		return len(p), nil
	}
	w.sum.Write(w.held[:n])
	if _, err := w.out.Write(w.held[:n]); err != nil {
		return 0, err
	}
	w.held = append(w.held[:0], w.held[n:]...)
	return len(p), nil
}

func (w *hashedWriter) isComplete() bool { return bytes.Equal(w.sum.Sum(nil), w.held) }
