package etcd_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd/etcdtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hostcontract"
)

const peer = "https://192.0.2.10:2380"

func newStore(t *testing.T, keys map[string]string) (*etcd.Store, etcd.Config) {
	t.Helper()
	binary := etcdtest.Binary(t)
	cfg := etcd.Config{
		DataDir: etcdtest.Form(t, binary, peer, keys), RuntimeDir: filepath.Join(etcdtest.ShortDir(t), "run"),
		Manifest: "/nonexistent", Binary: binary, LockWait: 5 * time.Second,
	}
	return etcd.New(cfg), cfg
}

func open(t *testing.T, store host.Keystore) host.OpenKeystore {
	t.Helper()
	began := time.Now()
	session, err := store.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("opened in %v", time.Since(began))
	return session
}

func closeStore(t *testing.T, session host.OpenKeystore) {
	t.Helper()
	began := time.Now()
	if err := session.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Logf("closed in %v", time.Since(began))
}

func dump(t *testing.T, session host.OpenKeystore, prefix string) map[string]host.KeyValue {
	t.Helper()
	out := map[string]host.KeyValue{}
	err := session.Range(t.Context(), prefix, func(kv host.KeyValue) error {
		out[kv.Key] = kv
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCommitIsGuardedAndLasts(t *testing.T) {
	store, _ := newStore(t, map[string]string{"/k/edit": "old", "/k/delete": "old", "/k/stay": "old"})
	session := open(t, store)
	before := dump(t, session, "/k/")
	err := session.Commit(t.Context(), []host.Edit{
		{Key: "/k/edit", Value: []byte("new"), ModRevision: before["/k/edit"].ModRevision},
		{Key: "/k/delete", Delete: true, ModRevision: before["/k/delete"].ModRevision},
		{Key: "/k/made", Value: []byte("new")},
	})
	if err != nil {
		t.Fatal(err)
	}
	stale := []host.Edit{
		{Key: "/k/stay", Value: []byte("lost"), ModRevision: before["/k/stay"].ModRevision},
		{Key: "/k/edit", Value: []byte("lost"), ModRevision: before["/k/edit"].ModRevision},
	}
	err = session.Commit(t.Context(), stale)
	if !errors.Is(err, etcd.ErrConflict) || !strings.Contains(err.Error(), "/k/edit") {
		t.Fatalf("want a conflict that names /k/edit, got %v", err)
	}
	closeStore(t, session)

	session = open(t, store)
	defer closeStore(t, session)
	after := dump(t, session, "/k/")
	want := map[string]string{"/k/edit": "new", "/k/made": "new", "/k/stay": "old"}
	if len(after) != len(want) {
		t.Fatalf("keys after: %v", after)
	}
	for k, v := range want {
		if string(after[k].Value) != v {
			t.Errorf("%s = %q, want %q", k, after[k].Value, v)
		}
	}
	if after["/k/stay"].ModRevision != before["/k/stay"].ModRevision {
		t.Error("an untouched key changed its revision")
	}
}

func TestCommitSplitsLargeSets(t *testing.T) {
	store, _ := newStore(t, nil)
	session := open(t, store)
	defer closeStore(t, session)
	var edits []host.Edit
	for i := range 3000 {
		edits = append(edits, host.Edit{Key: fmt.Sprintf("/many/%05d", i), Value: []byte("v")})
	}
	for i := range 8 {
		edits = append(edits, host.Edit{Key: fmt.Sprintf("/big/%d", i), Value: make([]byte, 1<<20)})
	}
	if err := session.Commit(t.Context(), edits); err != nil {
		t.Fatal(err)
	}
	if n := len(dump(t, session, "/many/")) + len(dump(t, session, "/big/")); n != 3008 {
		t.Fatalf("%d keys written", n)
	}
}

func TestNothingListensOnTheNetwork(t *testing.T) {
	store, cfg := newStore(t, nil)
	session := open(t, store)
	defer closeStore(t, session)
	info, err := os.Stat(cfg.RuntimeDir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("runtime directory: %v, %v", info.Mode(), err)
	}
	pid, err := os.ReadFile(filepath.Join(cfg.RuntimeDir, "etcd.pid"))
	if err != nil {
		t.Fatal(err)
	}
	for _, inode := range socketsOf(t, string(pid)) {
		for _, family := range []string{"tcp", "tcp6", "udp", "udp6"} {
			table, err := os.ReadFile(filepath.Join("/proc", string(pid), "net", family))
			if err == nil && strings.Contains(string(table), " "+inode+" ") {
				t.Errorf("etcd has a socket in %s", family)
			}
		}
	}
}

// socketsOf lists the inodes of the sockets that a process holds.
func socketsOf(t *testing.T, pid string) []string {
	t.Helper()
	dir := filepath.Join("/proc", pid, "fd")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		link, err := os.Readlink(filepath.Join(dir, e.Name()))
		if inode, ok := strings.CutPrefix(link, "socket:["); err == nil && ok {
			out = append(out, strings.TrimSuffix(inode, "]"))
		}
	}
	if len(out) == 0 {
		t.Fatal("etcd holds no socket at all")
	}
	return out
}

func TestOpenEndsTheOrphanOfAKilledRun(t *testing.T) {
	_, cfg := newStore(t, map[string]string{"/k": "v"})
	if err := os.MkdirAll(cfg.RuntimeDir, 0o700); err != nil {
		t.Fatal(err)
	}
	orphan := exec.Command(cfg.Binary, "--data-dir", cfg.DataDir, "--name", "offline", "--log-level", "error",
		"--listen-client-urls", "unix://client:0", "--advertise-client-urls", "unix://client:0", "--listen-peer-urls", "unix://peer:0")
	orphan.Dir = cfg.RuntimeDir
	if err := orphan.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- orphan.Wait() }()
	defer orphan.Process.Kill()
	waitFor(t, func() bool {
		_, err := os.Stat(filepath.Join(cfg.RuntimeDir, "client:0"))
		return err == nil
	})
	pid := fmt.Sprint(orphan.Process.Pid)
	if err := os.WriteFile(filepath.Join(cfg.RuntimeDir, "etcd.pid"), []byte(pid), 0o600); err != nil {
		t.Fatal(err)
	}
	session := open(t, etcd.New(cfg))
	defer closeStore(t, session)
	<-ended
	if got := dump(t, session, "/k"); string(got["/k"].Value) != "v" {
		t.Fatalf("keys %v", got)
	}
}

func TestOpenRefusesDataInUse(t *testing.T) {
	_, cfg := newStore(t, nil)
	cfg.LockWait = 100 * time.Millisecond
	db, err := os.OpenFile(filepath.Join(cfg.DataDir, "member", "snap", "db"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := syscall.Flock(int(db.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := etcd.New(cfg).Open(t.Context()); err == nil || !strings.Contains(err.Error(), "must be stopped") {
		t.Fatalf("got %v", err)
	}
}

func TestOpenRefusesWhereThereIsNoMember(t *testing.T) {
	dir := t.TempDir()
	store := etcd.New(etcd.Config{DataDir: dir, RuntimeDir: t.TempDir()})
	if _, err := store.Open(t.Context()); err == nil || !strings.Contains(err.Error(), "no etcd member") {
		t.Fatalf("got %v", err)
	}
}

// TestDamagedDataIsExplainedInALine: what etcd prints then is a stack trace.
func TestDamagedDataIsExplainedInALine(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"overwritten": func(b []byte) []byte { return bytes.Repeat([]byte{0xff}, len(b)) },
		"pages lost":  func(b []byte) []byte { clear(b[2*4096:]); return b },
	} {
		t.Run(name, func(t *testing.T) {
			store, cfg := newStore(t, map[string]string{"/a": "1"})
			file := filepath.Join(cfg.DataDir, "member", "snap", "db")
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, damage(data), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err = store.Open(t.Context())
			if err == nil {
				t.Fatal("damaged data was opened")
			}
			for _, noise := range []string{"goroutine ", ".go:", "\n"} {
				if strings.Contains(err.Error(), noise) {
					t.Errorf("%q in: %v", noise, err)
				}
			}
			if !strings.Contains(err.Error(), "it says: ") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestOpenSaysWhatIsMissing(t *testing.T) {
	_, cfg := newStore(t, nil)
	cfg.Binary = "/nonexistent/etcd"
	_, err := etcd.New(cfg).Open(t.Context())
	if err == nil || !strings.Contains(err.Error(), "static pod") || !strings.Contains(err.Error(), "binary") {
		t.Fatalf("got %v", err)
	}
}

func waitFor(t *testing.T, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("condition not met within 30 s")
		}
	}
}

func TestContract(t *testing.T) {
	hostcontract.TestKeystore(t, func(t *testing.T) host.Keystore {
		store, _ := newStore(t, nil)
		return store
	})
}
