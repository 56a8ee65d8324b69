// Package etcdtest gives tests a real etcd: the project's own binary, and a data
// directory in which a cluster of one member has been formed and stopped.
//
// It is called by tests of the etcd adapter and of the domains above it; it must
// not import a domain package.
package etcdtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// Binary finds etcd below build/bin of the module or in PATH, and skips the test otherwise and in a short run.
func Binary(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("reason: starts etcd; run without -short")
	}
	t.Attr("uses", "etcd")
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != "/"; dir = filepath.Dir(dir) {
		path := filepath.Join(dir, "build", "bin", "etcd")
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	path, err := exec.LookPath("etcd")
	if err != nil {
		t.Skip("reason: no etcd to test against, build/bin/etcd is missing; run make controlplane")
	}
	return path
}

// Form makes a data directory as a node's own etcd leaves it: one member, name "sno", with the
// given peer URL, and the given keys. Nothing listens on the network meanwhile.
func Form(t testing.TB, binary, peerURL string, keys map[string]string) string {
	t.Helper()
	data, run := t.TempDir(), ShortDir(t)
	cmd := exec.Command(binary, "--name", "sno", "--data-dir", data,
		"--listen-client-urls", "unix://client:0", "--advertise-client-urls", "unix://client:0",
		"--listen-peer-urls", "unix://peer:0", "--initial-advertise-peer-urls", peerURL,
		"--initial-cluster", "sno="+peerURL, "--heartbeat-interval", "10", "--election-timeout", "50",
		"--log-level", "error", "--max-request-bytes", "16777216")
	cmd.Dir, cmd.Env = run, []string{"PATH=" + os.Getenv("PATH")}
	var out strings.Builder
	cmd.Stderr = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := putKeys(run, keys); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.Fatalf("fill etcd: %v; it said: %s", err, out.String())
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait()
	return data
}

// ShortDir is a private directory whose path leaves room for a socket's name.
func ShortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "etcd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// quickRetry spares a test gRPC's back-off of a second.
func quickRetry() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: 5 * time.Millisecond, Multiplier: 1.5, MaxDelay: 100 * time.Millisecond},
		MinConnectTimeout: time.Second,
	})}
}

func putKeys(run string, keys map[string]string) error {
	socket := filepath.Join(run, "client:0")
	deadline := time.Now().Add(2 * time.Minute)
	for {
		if _, err := os.Stat(socket); err == nil {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no socket after 30 s")
		}
		time.Sleep(5 * time.Millisecond)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"unix://" + socket}, Logger: zap.NewNop(), MaxCallSendMsgSize: 16 << 20, DialOptions: quickRetry()})
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	if _, err := client.Get(ctx, "health"); err != nil {
		return err
	}
	for k, v := range keys {
		if _, err := client.Put(ctx, k, v); err != nil {
			return err
		}
	}
	return nil
}
