package recert

import (
	"context"
	"errors"
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

// BenchmarkMove measures a whole change of addresses over a real etcd, against reading every key of the same data once:
//
//	go test -run '^$' -bench Move -benchtime 7x ./internal/recert
//
// Both begin and end with the data at rest, as a run on a node does, and are told in two ways. Columns: read-total-ms, move-total-ms and
// x-total (move by read) with etcd's start and stop; read-ms, move-ms and x-reading without; peak-MiB of the heap while moving. Of several
// iterations the median of each.
func BenchmarkMove(b *testing.B) {
	b.Cleanup(LimitMemory()) // as lca-cli does
	for _, objects := range []int{5000, 50000} {
		b.Run(fmt.Sprintf("objects=%d", objects), func(b *testing.B) {
			f := figures{}
			for b.Loop() {
				b.StopTimer()
				m := moveOf(1)
				store, w, stored := filledStore(b, m, clustertest.Size{Objects: objects, Bundle: 140})
				read := store.time(b, func() error { return readAll(b.Context(), store) })
				engine := New(Ports{Keystore: store, Files: w, Clock: func() time.Time { return testTime }})
				peak := watchHeap()
				b.StartTimer()
				move := store.time(b, func() error { return engine.Run(b.Context(), configPath) })
				b.StopTimer()
				f.note("peak-MiB", peak())
				f.note("keys", float64(stored))
				f.note("read-total-ms", milliseconds(read.total))
				f.note("move-total-ms", milliseconds(move.total))
				f.note("x-total", move.total.Seconds()/read.total.Seconds())
				f.note("read-ms", milliseconds(read.work))
				f.note("move-ms", milliseconds(move.work))
				f.note("x-reading", move.work.Seconds()/read.work.Seconds())
				b.StartTimer()
			}
			f.report(b)
		})
	}
}

// figures are the values of each column.
type figures map[string][]float64

func (f figures) note(unit string, value float64) { f[unit] = append(f[unit], value) }

func (f figures) report(b *testing.B) {
	for unit, values := range f {
		slices.Sort(values)
		b.ReportMetric(values[len(values)/2], unit)
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func readAll(ctx context.Context, store host.Keystore) (err error) {
	session, err := store.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close(ctx)) }()
	return session.Range(ctx, "/", func(host.KeyValue) error { return nil })
}

// meteredStore knows how long etcd took to start and to stop.
type meteredStore struct {
	host.Keystore
	between time.Duration
}

type meteredSession struct {
	host.OpenKeystore
	store *meteredStore
}

func (s *meteredStore) Open(ctx context.Context) (host.OpenKeystore, error) {
	defer s.add(time.Now())
	session, err := s.Keystore.Open(ctx)
	return meteredSession{session, s}, err
}

func (s meteredSession) Close(ctx context.Context) error {
	defer s.store.add(time.Now())
	return s.OpenKeystore.Close(ctx)
}

func (s *meteredStore) add(began time.Time) { s.between += time.Since(began) }

// timing is how long something took, in total and without etcd's start and stop.
type timing struct{ total, work time.Duration }

func (s *meteredStore) time(b *testing.B, do func() error) timing {
	b.Helper()
	s.between = 0
	began := time.Now()
	if err := do(); err != nil {
		b.Fatal(err)
	}
	total := time.Since(began)
	return timing{total, total - s.between}
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

// filledStore makes a cluster up and leaves it at rest in an etcd of its own; the files stay in memory.
func filledStore(b *testing.B, m move, size clustertest.Size) (*meteredStore, *world, int) {
	b.Helper()
	binary := etcdtest.Binary(b)
	made := clustertest.Generate(keyring(b), 1, m.before, size)
	store := &meteredStore{Keystore: etcd.New(etcd.Config{DataDir: etcdtest.Form(b, binary, made.Member.PeerURLs[0], nil),
		RuntimeDir: filepath.Join(etcdtest.ShortDir(b), "run"), Manifest: "/nonexistent", Binary: binary})}
	var edits []host.Edit
	for _, k := range slices.Sorted(maps.Keys(made.Keys)) {
		edits = append(edits, host.Edit{Key: k, Value: made.Keys[k]})
	}
	store.time(b, func() error { return fill(b.Context(), store, edits) })
	return store, settle(b, &clustertest.Cluster{Files: made.Files, Member: made.Member}, m.config), len(edits)
}

func fill(ctx context.Context, store host.Keystore, edits []host.Edit) (err error) {
	session, err := store.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close(ctx)) }()
	return session.Commit(ctx, edits)
}
