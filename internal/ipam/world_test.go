package ipam

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go4.org/netipx"
)

// clock is a test's own time.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

func newClock() *clock { return &clock{time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

func subnet(s string) Range { return Range{Subnet: netip.MustParsePrefix(s)} }

func between(from, to string) Range { return Range{Start: addr(from), End: addr(to)} }

func spanned(t testing.TB, s string) netipx.IPRange {
	t.Helper()
	r, err := ParseSpan(s)
	require.NoError(t, err)
	return r
}

func pool(t testing.TB, s Spec) (*Pool, *clock) {
	t.Helper()
	if s.Name == "" {
		s.Name = "storage"
	}
	c := newClock()
	p, err := New(s, Options{Now: c.now, Rand: rand.NewPCG(1, 2)})
	require.NoError(t, err)
	return p, c
}

func claim(t testing.TB, p *Pool, name string) string {
	t.Helper()
	l, err := p.Claim(Request{Claim: name, Name: name})
	require.NoError(t, err)
	return l.Address.String()
}
