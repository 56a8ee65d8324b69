package etcd_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd"
)

// heldDir names the data directory that the second process of TestEtcdEndsWithItsKilledParent opens.
const heldDir = "ETCD_TEST_HELD_DIR"

// pidOf is the process that a store with this configuration runs.
func pidOf(t *testing.T, cfg etcd.Config) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(cfg.RuntimeDir, "etcd.pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// held says whether a running etcd holds the lock on its database.
func held(t *testing.T, cfg etcd.Config) bool {
	t.Helper()
	db, err := os.OpenFile(filepath.Join(cfg.DataDir, "member", "snap", "db"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	return errors.Is(syscall.Flock(int(db.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

func TestCloseReturnsWhenEtcdHasEnded(t *testing.T) {
	store, cfg := newStore(t, map[string]string{"/k": "v"})
	session := open(t, store)
	pid := pidOf(t, cfg)
	if err := session.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Fatalf("etcd still runs after Close: signal 0 says %v", err)
	}
	if held(t, cfg) {
		t.Fatal("etcd still holds its database after Close")
	}
}

func TestEtcdEndsWithItsKilledParent(t *testing.T) {
	if dir := os.Getenv(heldDir); dir != "" {
		holdOpen(t, dir)
		return
	}
	_, cfg := newStore(t, nil)
	parent := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.count=1")
	parent.Env = append(os.Environ(), heldDir+"="+cfg.DataDir+":"+cfg.RuntimeDir+":"+cfg.Binary)
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := parent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "open\n" {
		t.Fatalf("the parent said %q: %v", line, err)
	}
	pid := pidOf(t, cfg)
	t.Cleanup(func() {
		if t.Failed() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	if !held(t, cfg) {
		t.Fatal("etcd does not hold its database while it runs")
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	waitFor(t, func() bool { return !held(t, cfg) })
}

// holdOpen is the other process: it opens the store and stays until it is killed.
func holdOpen(t *testing.T, dirs string) {
	t.Helper()
	d := strings.Split(dirs, ":")
	session, err := etcd.New(etcd.Config{DataDir: d[0], RuntimeDir: d[1], Binary: d[2], Manifest: "/nonexistent"}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, session)
	_, _ = os.Stdout.WriteString("open\n")
	_, _ = io.Copy(io.Discard, os.Stdin) // ends when the other process does
}
