package inspect

import (
	"context"
	"fmt"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// ReadReturning reads the objects that bring an old address back, as far as no rule has read them. An inventory reads them with all others.
func (s *Survey) ReadReturning(ctx context.Context, store host.OpenKeystore) error {
	if s.Mapping.Empty() || s.Mapping.Overlaps() {
		return nil
	}
	for _, prefix := range s.rules.ReturningPrefixes() {
		err := store.Range(ctx, prefix, func(kv host.KeyValue) error {
			s.readForeign(kv)
			return nil
		})
		if err != nil {
			return fmt.Errorf("read %s: %w", prefix, err)
		}
	}
	return nil
}

// Returning lists the mentions of an old address by which it comes back, and the objects of which that is not known.
func (s *Survey) Returning() (out []Note) {
	for _, n := range s.Leftovers {
		key, _, _ := strings.Cut(n.Where, " ")
		if why := rules.ReturnsAddress(key); why != "" {
			out = append(out, Note{n.Where, n.Why + ": " + why})
		}
	}
	return append(out, s.unreadForeign("encrypted at rest: whether they bring an old address back is not known")...)
}

// readForeign reports where an object mentions an old address; of one that cannot be understood only that it does. One that is encrypted
// is counted.
func (s *Survey) readForeign(kv host.KeyValue) {
	o, err := wire.NewObject(kv)
	if err != nil {
		s.unread[resourceOf(kv.Key)]++
		return
	}
	if !s.Mapping.MayMention(wire.TextOf(kv.Value)) {
		return
	}
	before := len(s.Leftovers)
	err = o.Walk(func(at []string, text string) {
		path := strings.Join(at, "/")
		s.reportLeftover(func() string { return o.Key + " " + path }, text)
	})
	if err != nil || len(s.Leftovers) == before {
		notRead := s.NotRead
		s.Leftovers = s.Leftovers[:before]
		s.reportLeftover(func() string { return o.Key }, wire.TextOf(o.Value))
		s.NotRead = notRead // the fields said so already
	}
}
