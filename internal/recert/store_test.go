package recert

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd/etcdtest"
)

// realStore forms a real etcd with the world's keys.
func realStore(t *testing.T, w *world) (*etcd.Store, string) {
	t.Helper()
	binary := etcdtest.Binary(t)
	keys := map[string]string{"/outside": "192.0.2.1"}
	for k, kv := range w.keys {
		keys[k] = string(kv.Value)
	}
	runtime := filepath.Join(etcdtest.ShortDir(t), "run")
	return etcd.New(etcd.Config{DataDir: etcdtest.Form(t, binary, w.member.PeerURLs[0], keys), RuntimeDir: runtime,
		Manifest: "/nonexistent", Binary: binary}), runtime
}

func readStore(t *testing.T, store host.Keystore) (map[string]host.KeyValue, []host.StoreMember) {
	t.Helper()
	session, err := store.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close(context.Background())
	all := map[string]host.KeyValue{}
	if err := session.Range(t.Context(), "/", func(kv host.KeyValue) error { all[kv.Key] = kv; return nil }); err != nil {
		t.Fatal(err)
	}
	members, err := session.Members(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all, members
}

// sameAsFake compares the real store with the one in memory, byte for byte.
func sameAsFake(t *testing.T, store host.Keystore, fake *world) {
	t.Helper()
	keys, members := readStore(t, store)
	if string(keys["/outside"].Value) != oldV4 || keys["/outside"].Value == nil {
		t.Error("a key outside the cluster's prefix was touched")
	}
	delete(keys, "/outside")
	for k, kv := range fake.keys {
		if !bytes.Equal(keys[k].Value, kv.Value) {
			t.Errorf("%s differs", k)
		}
	}
	if len(keys) != len(fake.keys) {
		t.Errorf("%d keys, want %d", len(keys), len(fake.keys))
	}
	if members[0].PeerURLs[0] != fake.member.PeerURLs[0] {
		t.Errorf("member at %v", members[0].PeerURLs)
	}
}

func realEngine(store host.Keystore, files host.Files) *Engine {
	return New(Ports{Keystore: store, Files: files, Clock: func() time.Time { return testTime }})
}

func TestRealEtcdEndsAsTheFakeDoes(t *testing.T) {
	start := newWorld(t)
	fake, disk := start.clone(), start.clone()
	store, _ := realStore(t, start)
	runRecert(t, fake)
	if err := realEngine(store, disk).Run(t.Context(), configPath); err != nil {
		t.Fatal(err)
	}
	sameAsFake(t, store, fake)
	before, _ := readStore(t, store)
	if err := realEngine(store, disk).Run(t.Context(), configPath); err != nil {
		t.Fatal(err)
	}
	after, _ := readStore(t, store)
	for k, kv := range after {
		if before[k].ModRevision != kv.ModRevision {
			t.Errorf("the second run wrote %s", k)
		}
	}
}

func TestRealEtcdKilledBetweenCommitsIsCompleted(t *testing.T) {
	start := newWorld(t)
	fake, disk := start.clone(), start.clone()
	store, runtime := realStore(t, start)
	runRecert(t, fake)
	cut := &killingStore{Keystore: store, runtime: runtime}
	if err := realEngine(cut, disk).Run(t.Context(), configPath); err == nil {
		t.Fatal("the run did not notice that etcd was killed")
	}
	if err := realEngine(store, disk).Run(t.Context(), configPath); err != nil {
		t.Fatal(err)
	}
	sameAsFake(t, store, fake)
}

func TestRealEtcdSwap(t *testing.T) {
	start := newWorld(t)
	withConfig(t, start, map[string]any{"ip": nil, "machine_network_cidr": nil, "cn_san_replace_rules": []string{oldV4 + "," + lookalike, lookalike + "," + oldV4}})
	fake, disk := start.clone(), start.clone()
	store, runtime := realStore(t, start)
	runRecert(t, fake)
	cut := &killingStore{Keystore: store, runtime: runtime}
	if err := realEngine(cut, disk).Run(t.Context(), configPath); err == nil {
		t.Fatal("the run did not notice that etcd was killed")
	}
	for range 2 {
		if err := realEngine(store, disk).Run(t.Context(), configPath); err != nil {
			t.Fatal(err)
		}
		sameAsFake(t, store, fake)
	}
}

// killingStore commits the first half of the first commit and kills etcd.
type killingStore struct {
	host.Keystore
	runtime string
}

func (k *killingStore) Open(ctx context.Context) (host.OpenKeystore, error) {
	session, err := k.Keystore.Open(ctx)
	return &killingSession{session, k.runtime}, err
}

type killingSession struct {
	host.OpenKeystore
	runtime string
}

func (k *killingSession) Commit(ctx context.Context, edits []host.Edit) error {
	if err := k.OpenKeystore.Commit(ctx, edits[:len(edits)/2]); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(k.runtime, "etcd.pid"))
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		return err
	}
	return errors.Join(errPowerCut, syscall.Kill(pid, syscall.SIGKILL))
}
