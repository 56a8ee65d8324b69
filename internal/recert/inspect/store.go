package inspect

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
)

// A batch ends with so many keys or bytes, and so many batches of a prefix wait.
const (
	aheadKeys    = 64
	aheadBytes   = 1 << 20
	aheadBatches = 8
)

// aheadPrefixes is how many prefixes are read ahead. Most have few keys, and requesting them takes longer than reading them.
const aheadPrefixes = 6

// reading is what stands below one prefix, as far as it has been read.
type reading struct {
	batches chan []host.KeyValue
	err     error // once batches is closed
}

// readStore visits the objects in order while it reads ahead. All readers have ended when it returns.
func (s *Survey) readStore(ctx context.Context, store host.OpenKeystore) error {
	var readers sync.WaitGroup
	defer readers.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for r := range readAhead(ctx, &readers, store, s.rules.Prefixes()) {
		for batch := range r.batches {
			for _, kv := range batch {
				if err := s.readObject(kv); err != nil {
					return err
				}
			}
		}
		if r.err != nil {
			return r.err
		}
	}
	return ctx.Err()
}

// readAhead reads prefix after prefix and delivers them in order, until the context ends.
func readAhead(ctx context.Context, readers *sync.WaitGroup, store host.OpenKeystore, prefixes []string) <-chan *reading {
	out := make(chan *reading, aheadPrefixes-1)
	readers.Go(func() {
		defer close(out)
		for _, prefix := range prefixes {
			r := &reading{batches: make(chan []host.KeyValue, aheadBatches)}
			readers.Go(func() { r.readBatches(ctx, store, prefix) })
			select {
			case out <- r:
			case <-ctx.Done():
				return
			}
		}
	})
	return out
}

func (r *reading) readBatches(ctx context.Context, store host.OpenKeystore, prefix string) {
	defer close(r.batches)
	var batch []host.KeyValue
	size := 0
	send := func() error {
		select {
		case r.batches <- batch:
			batch, size = nil, 0
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r.err = store.Range(ctx, prefix, func(kv host.KeyValue) error {
		batch, size = append(batch, kv), size+len(kv.Value)
		if len(batch) < aheadKeys && size < aheadBytes {
			return nil
		}
		return send()
	})
	if r.err == nil {
		r.err = send()
	}
}

// transientPrefixes are objects that describe the past or are recreated; old addresses in them are not reported.
func transientPrefixes() []string { return []string{"events/", "masterleases/", rules.NodePrefix} }

// readRest reports mentions of old addresses in the objects that no rule names, such as users' own, and counts those it cannot read.
func (s *Survey) readRest(ctx context.Context, store host.OpenKeystore) error {
	read := s.rules.Prefixes()
	for _, name := range transientPrefixes() {
		read = append(read, rules.StorageKey(name))
	}
	for _, prefix := range []string{rules.StoragePrefix, rules.AggregatedPrefix} {
		err := store.Range(ctx, prefix, func(kv host.KeyValue) error {
			if !slices.ContainsFunc(read, func(prefix string) bool { return strings.HasPrefix(kv.Key, prefix) }) {
				s.readForeign(kv)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
