package ipam

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go4.org/netipx"
)

// naive is a pool as one would write it in a hurry: a map of every address.
type naive struct {
	usable   map[netip.Addr]bool
	held     map[netip.Addr]string
	reserved map[netip.Addr]string
	until    map[netip.Addr]time.Time
}

func (n *naive) free(a netip.Addr, now time.Time) bool {
	return n.usable[a] && n.held[a] == "" && n.reserved[a] == "" && !n.until[a].After(now)
}

func (n *naive) lowest(now time.Time) (netip.Addr, bool) {
	for _, a := range slices.SortedFunc(maps.Keys(n.usable), netip.Addr.Compare) {
		if n.free(a, now) {
			return a, true
		}
	}
	return netip.Addr{}, false
}

// modelSpecs are pools small enough for the naive one, each with a smaller one of itself.
func modelSpecs() [][2]Spec {
	spec := func(ranges []Range, off ...string) Spec {
		s := Spec{Name: "p", Ranges: ranges, Gateway: addr("10.0.0.1"), Quarantine: 10 * time.Second}
		if ranges[0].Subnet.Addr().Is6() {
			s.Gateway = addr("fd00::1")
		}
		for _, o := range off {
			r, err := ParseSpan(o)
			if err != nil {
				panic(err)
			}
			s.Exclude = append(s.Exclude, r)
		}
		return s
	}
	return [][2]Spec{
		{spec([]Range{subnet("10.0.0.0/27")}, "10.0.0.8-10.0.0.9", "10.0.0.16/30"), spec([]Range{subnet("10.0.0.0/28")})},
		{spec([]Range{between("10.0.0.2", "10.0.0.9"), between("10.0.0.20", "10.0.0.29")}, "10.0.0.4"), spec([]Range{between("10.0.0.5", "10.0.0.22")})},
		{spec([]Range{subnet("fd00::/124")}, "fd00::8/126"), spec([]Range{subnet("fd00::/123")})},
	}
}

// enumerate does by hand what carve does by intervals.
func enumerate(s Spec) map[netip.Addr]bool {
	out := map[netip.Addr]bool{}
	for _, r := range s.Ranges {
		b, off := netipx.IPRangeFrom(r.Start, r.End), []netip.Addr{s.Gateway}
		if r.Subnet.IsValid() {
			b = netipx.RangeOfPrefix(r.Subnet)
			off = append(off, b.From())
			if b.From().Is4() {
				off = append(off, b.To())
			}
		}
		for a := b.From(); b.Contains(a); a = a.Next() {
			in := slices.ContainsFunc(s.Exclude, func(e netipx.IPRange) bool { return e.Contains(a) })
			if !in && !slices.Contains(off, a) {
				out[a] = true
			}
		}
	}
	return out
}

// against plays a script, one byte after the other, on both and compares everything
// that can be seen after every move.
func against(t *testing.T, specs [2]Spec, script []byte) {
	c := newClock()
	p, err := New(specs[0], Options{Now: c.now, Rand: rand.NewPCG(1, 2)})
	require.NoError(t, err)
	n := &naive{enumerate(specs[0]), map[netip.Addr]string{}, map[netip.Addr]string{}, map[netip.Addr]time.Time{}}
	all := slices.SortedFunc(maps.Keys(n.usable), netip.Addr.Compare)
	for i := 0; i+1 < len(script); i += 2 {
		who, a := fmt.Sprint("c", script[i+1]%24), all[int(script[i+1])%len(all)]
		move(t, p, n, c, specs, script[i]%9, who, a)
		compare(t, p, n, c)
	}
}

func move(t *testing.T, p *Pool, n *naive, c *clock, specs [2]Spec, kind byte, who string, a netip.Addr) {
	switch kind {
	case 0, 1, 2:
		before, known := p.Of(who)
		want, ok := n.lowest(c.t)
		l, err := p.Claim(Request{Claim: who})
		switch {
		case known:
			require.NoError(t, err)
			require.Equal(t, before, l)
		case !ok:
			require.ErrorIs(t, err, ErrExhausted)
		default:
			require.NoError(t, err)
			require.True(t, n.free(l.Address, c.t), "%s is not free", l.Address)
			require.Equal(t, want, l.Address)
			n.held[l.Address] = who
		}
	case 3, 4:
		if l, ok := p.Release(who); ok {
			require.Equal(t, who, n.held[l.Address])
			delete(n.held, l.Address)
			if n.reserved[l.Address] == "" && n.usable[l.Address] {
				n.until[l.Address] = c.t.Add(10 * time.Second)
			}
		}
	case 5:
		_, known := p.Of(who)
		l, err := p.Claim(Request{Claim: who, Address: a})
		if !known && n.free(a, c.t) {
			require.NoError(t, err)
			n.held[a] = who
		} else if !known {
			require.Error(t, err, "%s %v", a, l)
		}
	case 6:
		c.t = c.t.Add(4 * time.Second)
	case 7:
		if l, ok := p.Of(who); ok {
			p.Withdraw(who)
			delete(n.held, l.Address)
		}
	case 8:
		to := specs[int(who[len(who)-1])%2]
		n.usable, n.reserved = enumerate(to), map[netip.Addr]string{}
		if n.usable[a] {
			to.Reserved, n.reserved[a] = map[string]netip.Addr{"x": a}, "x"
			delete(n.until, a)
		}
		_, err := p.Resize(to)
		require.NoError(t, err)
		maps.DeleteFunc(n.until, func(a netip.Addr, u time.Time) bool { return !n.usable[a] || !u.After(c.t) })
	}
}

func compare(t *testing.T, p *Pool, n *naive, c *clock) {
	s := p.Stats()
	want := Stats{Total: CountOf(uint64(len(n.usable))), Excluded: s.Excluded, Used: len(n.held)}
	free := 0
	for a := range n.usable {
		switch {
		case n.free(a, c.t):
			free++
		case n.held[a] != "":
		case n.reserved[a] != "":
			want.Reserved++
		default:
			want.Quarantined++
		}
	}
	want.Free = CountOf(uint64(free))
	for a, who := range n.held {
		l, ok := p.Holder(a)
		require.True(t, ok)
		require.Equal(t, who, l.Claim)
		if l.Outside {
			want.Outside++
		}
		require.Equal(t, !n.usable[a], l.Outside)
	}
	require.Equal(t, want, s)
	tree(t, p)
}

// tree checks the shape of the free set: in order, apart, and as many as it says.
func tree(t *testing.T, p *Pool) {
	var last span
	sum, first := Count{}, true
	p.free.spans.Ascend(func(s span) bool {
		require.False(t, s.to.less(s.from))
		if !first && s.rng == last.rng {
			require.True(t, last.to.next().less(s.from), "%v and %v are not joined", last, s)
		}
		sum, last, first = sum.add(s.size()), s, false
		return true
	})
	require.Equal(t, p.free.total, sum)
}

func TestModel(t *testing.T) {
	for i, specs := range modelSpecs() {
		for seed := range uint64(40) {
			t.Run(fmt.Sprintf("%d/%d", i, seed), func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, uint64(i)))
				script := make([]byte, 400)
				for k := range script {
					script[k] = byte(r.Uint32())
				}
				against(t, specs, script)
			})
		}
	}
}

func FuzzModel(f *testing.F) {
	f.Add(uint8(0), []byte{0, 1, 0, 2, 3, 1, 6, 0, 6, 0, 6, 0, 0, 3})
	f.Add(uint8(1), []byte{5, 9, 7, 3, 8, 1, 0, 1, 8, 0, 3, 9})
	f.Add(uint8(2), []byte{0, 0, 0, 1, 0, 2, 0, 3, 0, 4, 8, 1, 3, 2, 0, 9})
	f.Fuzz(func(t *testing.T, which uint8, script []byte) {
		specs := modelSpecs()
		against(t, specs[int(which)%len(specs)], script[:min(len(script), 2000)])
	})
}
