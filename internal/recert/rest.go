package recert

import (
	"context"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// transient are the objects that say what was, or that are made again: a mention of an old address in them is no news.
func transient() []string { return []string{"events/", "masterleases/", nodePrefix} }

// readRest looks for mentions of old addresses in the objects that no rule names, so that people hear of those in their own.
func (s *scan) readRest(ctx context.Context, store host.OpenKeystore) error {
	read := s.rules.prefixes()
	for _, name := range transient() {
		read = append(read, storageKey(name))
	}
	return store.Range(ctx, storagePrefix, func(kv host.KeyValue) error {
		begins := func(prefix string) bool { return strings.HasPrefix(kv.Key, prefix) }
		if s.mapping.quick.mentions(textOf(kv.Value)) && !slices.ContainsFunc(read, begins) {
			s.readForeign(kv)
		}
		return nil
	})
}

// readForeign reports where an object mentions an old address; of one that cannot be understood only that it does. One that is encrypted
// is refused where that matters.
func (s *scan) readForeign(kv host.KeyValue) {
	o, err := newObject(kv)
	if err != nil {
		return
	}
	before := len(s.plan.Leftovers)
	err = o.walk(func(at []string, text string) {
		path := strings.Join(at, "/")
		s.reportLeftover(func() string { return o.key + " " + path }, text)
	})
	if err != nil || len(s.plan.Leftovers) == before {
		s.plan.Leftovers = s.plan.Leftovers[:before]
		s.reportLeftover(func() string { return o.key }, textOf(o.value))
	}
}
