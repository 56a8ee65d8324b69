package recert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow/flowtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
)

func TestSecondRunIsNoOp(t *testing.T) {
	w := newWorld(t)
	runRecert(t, w)
	requireAtRest(t, w, testTime)
	// The explicit form of the flow knows the old addresses even without the Node.
	withConfig(t, w, map[string]any{"cn_san_replace_rules": []string{oldV4 + "," + newV4, oldV6 + "," + newV6}})
	runRecert(t, w)
	if w.writes != 0 {
		t.Fatalf("the third run wrote %v", w.ordered)
	}
}

func TestNodeIsDeletedLast(t *testing.T) {
	w := newWorld(t)
	runRecert(t, w)
	last := w.ordered[len(w.ordered)-2:] // then comes the summary
	if last[0] != rules.StoragePrefix+"minions/sno" || last[1] != host.RecertSummary {
		t.Fatalf("the last writes were %v", last)
	}
}

func TestEveryCrashIsCompletedByTheNextRun(t *testing.T) {
	for name, extra := range map[string]map[string]any{
		"move":                     {},
		"move, old addresses said": {"cn_san_replace_rules": []string{oldV4 + "," + newV4, oldV6 + "," + newV6}},
		"swap":                     {"ip": nil, "machine_network_cidr": nil, "cn_san_replace_rules": []string{oldV4 + "," + lookalike, lookalike + "," + oldV4}},
	} {
		t.Run(name, func(t *testing.T) {
			start := newWorld(t)
			withConfig(t, start, extra)
			whole := start.clone()
			runRecert(t, whole)
			want := worldTexts(t, whole)
			flowtest.Points(t, whole.writes, func(t *testing.T, cut int) {
				w := cutAfter(t, start, cut)
				runRecert(t, w)
				compareWorlds(t, fmt.Sprintf("cut after %d writes", cut), worldTexts(t, w), want)
				requireAtRest(t, w, testTime)
			})
		})
	}
}

func compareWorlds(t *testing.T, when string, got, want map[string]string) {
	t.Helper()
	for where := range want {
		if got[where] != want[where] {
			t.Fatalf("%s: %s differs:\n%q\n%q", when, where, got[where], want[where])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d texts, want %d", when, len(got), len(want))
	}
}

func TestSwapSwaps(t *testing.T) {
	w := newWorld(t)
	withConfig(t, w, map[string]any{"ip": nil, "machine_network_cidr": nil, "cn_san_replace_rules": []string{oldV4 + "," + lookalike, lookalike + "," + oldV4}})
	runRecert(t, w)
	text := worldTexts(t, w)["/etc/kubernetes/manifests/etcd-pod.yaml"]
	if !strings.Contains(text, "https://"+lookalike+":2379,https://[2001:DB8:0::1]:2379,https://"+oldV4+":2379") {
		t.Fatalf("got %s", text)
	}
}

func TestStaleGuardStopsTheRun(t *testing.T) {
	w := newWorld(t)
	racing := &racingStore{world: w, key: rules.StoragePrefix + "configmaps/openshift-etcd/etcd-pod"}
	err := New(Ports{Keystore: racing, Files: w}).Run(t.Context(), configPath)
	if err == nil || !strings.Contains(err.Error(), racing.key) {
		t.Fatalf("got %v", err)
	}
}

// racingStore changes a key between reading and writing.
type racingStore struct {
	*world
	key string
}

func (r *racingStore) Open(context.Context) (host.OpenKeystore, error) { return r, nil }

func (r *racingStore) Commit(ctx context.Context, edits []host.Edit) error {
	kv := r.keys[r.key]
	kv.ModRevision += 1000
	r.keys[r.key] = kv
	return r.world.Commit(ctx, edits)
}

func TestDryRunWritesOnlyTheSummary(t *testing.T) {
	w := newWorld(t)
	withConfig(t, w, map[string]any{"dry_run": true})
	runRecert(t, w)
	if len(w.ordered) != 1 || w.ordered[0] != host.RecertSummary {
		t.Fatalf("a dry run wrote %v", w.ordered)
	}
	if summary := string(w.files[host.RecertSummary].data); !strings.Contains(summary, "dry_run: true") || !strings.Contains(summary, newV4) {
		t.Errorf("summary:\n%s", summary)
	}
}

// sealed is a node on which nothing can be written to one path.
type sealed struct {
	*world
	path string
}

func (s *sealed) Write(p string, data []byte, mode fs.FileMode) error {
	if p == s.path {
		return errors.New("read-only file system")
	}
	return s.world.Write(p, data, mode)
}

// Whoever runs recert goes back to the old cluster where it fails. A report that cannot be written is no reason for that.
func TestAReportThatCannotBeWrittenDoesNotFailTheRun(t *testing.T) {
	want := newWorld(t)
	w := want.clone()
	runRecert(t, want)
	var log bytes.Buffer
	run := New(Ports{Keystore: w, Files: &sealed{w, host.RecertSummary}, Clock: func() time.Time { return testTime },
		Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err := run.Run(t.Context(), configPath); err != nil {
		t.Fatal(err)
	}
	compareWorlds(t, "without a report", worldTexts(t, w), worldTexts(t, want))
	if !strings.Contains(log.String(), "its report could not be written") || !strings.Contains(log.String(), host.RecertSummary) {
		t.Errorf("the log says %s", log.String())
	}
	dry := newWorld(t)
	withConfig(t, dry, map[string]any{"dry_run": true})
	err := New(Ports{Keystore: dry, Files: &sealed{dry, host.RecertSummary}}).Run(t.Context(), configPath)
	if err == nil || !strings.Contains(err.Error(), "write the summary: read-only file system") {
		t.Errorf("a dry run without its report: %v", err)
	}
}
