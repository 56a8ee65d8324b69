package recert

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd/etcdtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/clustertest"
)

// BenchmarkMove measures a whole change of addresses over a real etcd, against what reading every key once takes in the same etcd:
//
//	go test -run '^$' -bench Move -benchtime 1x ./internal/recert
//
// Columns: read-ms (every key once), plan-ms, move-ms (the whole run, etcd's start and stop left out), x-reading (move by read), peak-MiB (of the
// heap, while planning and moving); of several iterations the median of each.
func BenchmarkMove(b *testing.B) {
	b.Cleanup(LimitMemory()) // as lca-cli does
	for _, objects := range []int{5000, 50000} {
		b.Run(fmt.Sprintf("objects=%d", objects), func(b *testing.B) {
			figures := map[string][]float64{}
			note := func(unit string, value float64) { figures[unit] = append(figures[unit], value) }
			for b.Loop() {
				b.StopTimer()
				m := moveOf(1)
				session, w, stored := filledStore(b, m, clustertest.Size{Objects: objects, Bundle: 140})
				engine := New(Ports{Keystore: session, Files: w, Clock: func() time.Time { return testTime }})
				read := stopwatch(b, func() error { return session.Range(b.Context(), "/", func(host.KeyValue) error { return nil }) })
				peak := watchHeap()
				plan := stopwatch(b, func() error { _, err := engine.Plan(b.Context(), mustConfig(b, w)); return err })
				b.StartTimer()
				run := stopwatch(b, func() error { return engine.Run(b.Context(), configPath) })
				b.StopTimer()
				note("peak-MiB", peak())
				note("keys", float64(stored))
				note("read-ms", float64(read.Milliseconds()))
				note("plan-ms", float64(plan.Milliseconds()))
				note("move-ms", float64(run.Milliseconds()))
				note("x-reading", run.Seconds()/read.Seconds())
				b.StartTimer()
			}
			for unit, values := range figures {
				slices.Sort(values)
				b.ReportMetric(values[len(values)/2], unit)
			}
		})
	}
}

func stopwatch(b *testing.B, do func() error) time.Duration {
	b.Helper()
	began := time.Now()
	if err := do(); err != nil {
		b.Fatal(err)
	}
	return time.Since(began)
}

// watchHeap returns what tells the largest heap since, above what it was. It looks without stopping what it watches.
func watchHeap() func() float64 {
	runtime.GC()
	before := heapInUse()
	var peak atomic.Uint64
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			peak.Store(max(peak.Load(), heapInUse()))
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	}()
	return func() float64 {
		close(done)
		<-stopped
		return float64(peak.Load()-min(peak.Load(), before)) / (1 << 20)
	}
}

// heapInUse is what runtime.MemStats calls HeapInuse.
func heapInUse() uint64 {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}}
	metrics.Read(heap)
	return heap[0].Value.Uint64() + heap[1].Value.Uint64()
}

// openStore hands out a session that is open already, so that what is measured is the work and not etcd's start.
type openStore struct{ host.OpenKeystore }

func (s openStore) Open(context.Context) (host.OpenKeystore, error) { return s, nil }

func (s openStore) Close(context.Context) error { return nil }

// filledStore makes a cluster up and stores it in an etcd of its own; the files stay in memory.
func filledStore(b *testing.B, m move, size clustertest.Size) (openStore, *world, int) {
	b.Helper()
	binary := etcdtest.Binary(b)
	made := clustertest.Generate(keyring(b), 1, m.before, size)
	store := etcd.New(etcd.Config{DataDir: etcdtest.Form(b, binary, made.Member.PeerURLs[0], nil),
		RuntimeDir: filepath.Join(etcdtest.ShortDir(b), "run"), Manifest: "/nonexistent", Binary: binary})
	session, err := store.Open(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = session.Close(context.Background()) })
	var edits []host.Edit
	for _, k := range slices.Sorted(maps.Keys(made.Keys)) {
		edits = append(edits, host.Edit{Key: k, Value: made.Keys[k]})
	}
	if err := session.Commit(b.Context(), edits); err != nil {
		b.Fatal(err)
	}
	w := settle(b, &clustertest.Cluster{Files: made.Files, Member: made.Member}, m.config)
	return openStore{session}, w, len(edits)
}
