package etcd_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd/etcdtest"
)

// TestACopyOfARunningEtcdHasWhatWasWritten copies while another client writes: the copy opens as the same member and has every key
// that was acknowledged before, and of those written meanwhile all up to one of them.
func TestACopyOfARunningEtcdHasWhatWasWritten(t *testing.T) {
	_, cfg := newStore(t, map[string]string{"/k": "v"})
	if err := os.MkdirAll(cfg.RuntimeDir, 0o700); err != nil {
		t.Fatal(err)
	}
	// So few entries to a snapshot of the log that several are made while this test writes.
	cmd := exec.CommandContext(t.Context(), cfg.Binary, "--data-dir", cfg.DataDir, "--name", "sno", "--log-level", "error",
		"--snapshot-count", "100", "--listen-client-urls", "unix://client:0", "--advertise-client-urls", "unix://client:0",
		"--listen-peer-urls", "unix://peer:0")
	cmd.Dir = cfg.RuntimeDir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	socket := filepath.Join(cfg.RuntimeDir, "client:0")
	waitFor(t, func() bool {
		_, err := os.Stat(socket)
		return err == nil
	})
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"unix://" + socket}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	writing, stop := context.WithCancel(t.Context())
	var written atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			if _, err := client.Put(writing, fmt.Sprintf("/n/%06d", i), string(make([]byte, 2048))); err != nil {
				return
			}
			written.Add(1)
		}
	}()
	for round := range 5 {
		waitFor(t, func() bool { return written.Load() > int64(250*(round+1)) })
		before := written.Load()
		to := filepath.Join(t.TempDir(), "copy")
		if err := etcd.NewLive(etcd.LiveConfig{Endpoint: "unix://" + socket}).Copy(t.Context(), cfg.DataDir, to); err != nil {
			t.Fatal(err)
		}
		requireCopy(t, cfg, to, before)
	}
	stop()
	<-done
	if cmd.ProcessState != nil {
		t.Error("the copy ended the running etcd")
	}
}

// requireCopy opens the copy beside the running etcd.
func requireCopy(t *testing.T, cfg etcd.Config, data string, before int64) {
	t.Helper()
	copied := etcd.New(etcd.Config{DataDir: data, RuntimeDir: filepath.Join(etcdtest.ShortDir(t), "run"), Manifest: "/nonexistent", Binary: cfg.Binary})
	session := open(t, copied)
	defer closeStore(t, session)
	keys := dump(t, session, "/n/")
	if int64(len(keys)) < before {
		t.Fatalf("the copy has %d keys, %d were acknowledged before", len(keys), before)
	}
	for i := range len(keys) {
		if _, there := keys[fmt.Sprintf("/n/%06d", i)]; !there {
			t.Fatalf("of %d keys number %d is missing", len(keys), i)
		}
	}
	members, err := session.Members(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(members) != 1 || members[0].PeerURLs[0] != peer {
		t.Fatalf("members %v", members)
	}
	t.Logf("%d keys were written before, the copy has %d", before, len(keys))
}
