package recert

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd/etcdtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
)

// The store is defragmented after all else, once, and also where there is nothing else to do.
func TestDefragmentIsTheLastThing(t *testing.T) {
	for name, extra := range map[string]map[string]any{"with a move": {"etcd_defrag": true}, "alone": noMove(map[string]any{"etcd_defrag": true})} {
		w := newWorld(t)
		withConfig(t, w, extra)
		runRecert(t, w)
		if n := len(w.ordered); n < 3 || w.ordered[n-3] != "defragment" || w.ordered[n-2] != config.RecordPath(configPath) || w.ordered[n-1] != host.RecertSummary {
			t.Errorf("%s: wrote %v", name, w.ordered)
		}
		w.writes, w.ordered = 0, nil
		runRecert(t, w)
		if slices.Contains(w.ordered, "defragment") {
			t.Errorf("%s: a second run wrote %v", name, w.ordered)
		}
	}
}

// What etcd keeps of a value that was overwritten is gone from its file.
func TestDefragmentForgetsWhatWasOverwritten(t *testing.T) {
	binary := etcdtest.Binary(t)
	secret := bytes.Repeat([]byte("a key that nobody may find in the seed image "), 40)
	dir := etcdtest.Form(t, binary, "https://"+oldV4+":2380", map[string]string{rules.StoragePrefix + "secrets/ns/x": string(secret)})
	store := etcd.New(etcd.Config{DataDir: dir, RuntimeDir: filepath.Join(etcdtest.ShortDir(t), "run"), Manifest: "/nonexistent", Binary: binary})
	session, err := store.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var kept host.KeyValue
	if err := session.Range(t.Context(), rules.StoragePrefix, func(kv host.KeyValue) error { kept = kv; return nil }); err != nil {
		t.Fatal(err)
	}
	if err := session.Commit(t.Context(), []host.Edit{{Key: kept.Key, Value: []byte("{}"), ModRevision: kept.ModRevision}}); err != nil {
		t.Fatal(err)
	}
	if err := session.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "member", "snap", "db")
	if data, err := os.ReadFile(file); err != nil || !bytes.Contains(data, secret) {
		t.Fatalf("%v: the value is not in the file before, so the test proves nothing", err)
	}
	w := &world{files: map[string]fakeFile{}, keys: map[string]host.KeyValue{}, budget: -1}
	(&builder{t: t, w: w}).config(noMove(map[string]any{"etcd_defrag": true}))
	if err := realEngine(store, w).Run(t.Context(), configPath); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil || bytes.Contains(data, secret[:200]) {
		t.Errorf("%v: the overwritten value is still in etcd's file", err)
	}
}
