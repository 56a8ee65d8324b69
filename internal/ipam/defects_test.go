package ipam

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go4.org/netipx"
)

// What other allocators are known to get wrong; each of these was seen somewhere.

func TestGatewayNetworkAndBroadcastAreNeverHandedOut(t *testing.T) {
	p, _ := pool(t, Spec{Ranges: []Range{subnet("192.168.0.0/29")}, Gateway: addr("192.168.0.3")})
	var got []string
	for i := range 5 {
		got = append(got, claim(t, p, fmt.Sprint(i)))
	}
	require.Equal(t, []string{"192.168.0.1", "192.168.0.2", "192.168.0.4", "192.168.0.5", "192.168.0.6"}, got)
	_, err := p.Claim(Request{Claim: "one too many"})
	require.ErrorIs(t, err, ErrExhausted)
	require.Equal(t, CountOf(3), p.Stats().Excluded)
}

func TestAnOpenRangeStopsWithItsNetwork(t *testing.T) {
	for name, r := range map[string]Range{
		"by prefix": {Start: addr("192.168.0.253"), Prefix: 24},
		"by subnet": {Start: addr("192.168.0.253"), Subnet: netip.MustParsePrefix("192.168.0.0/24")},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := pool(t, Spec{Ranges: []Range{r}})
			require.Equal(t, "192.168.0.253", claim(t, p, "a"))
			require.Equal(t, "192.168.0.254", claim(t, p, "b"))
			_, err := p.Claim(Request{Claim: "c"})
			require.ErrorIs(t, err, ErrExhausted, "neither .255 nor the neighbour's 192.168.1.0")
		})
	}
}

func TestTheEndsOfTheAddressSpace(t *testing.T) {
	for _, k := range []struct{ from, to string }{
		{"255.255.255.254", "255.255.255.255"}, {"0.0.0.0", "0.0.0.1"}, {"::", "::1"},
		{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
	} {
		p, _ := pool(t, Spec{Ranges: []Range{between(k.from, k.to)}})
		require.Equal(t, k.from, claim(t, p, "a"))
		require.Equal(t, k.to, claim(t, p, "b"))
		_, err := p.Claim(Request{Claim: "c"})
		require.ErrorIs(t, err, ErrExhausted)
		p.Release("b")
		p.Release("a")
		require.Equal(t, CountOf(2), p.Stats().Free)
		require.Equal(t, k.from, claim(t, p, "c"))
	}
}

// A wish is answered as fast at the far end of a /64, or of everything, as at the start.
func TestAGivenAddressCostsTheSameAnywhere(t *testing.T) {
	for _, s := range []string{"10.0.0.0/8", "fd00::/64", "::/0"} {
		p, _ := pool(t, Spec{Ranges: []Range{subnet(s)}})
		last := netipx.RangeOfPrefix(netip.MustParsePrefix(s)).To().Prev()
		start := time.Now()
		l, err := p.Claim(Request{Claim: "far", Address: last})
		require.NoError(t, err)
		require.Equal(t, last, l.Address)
		require.NoError(t, p.Quarantine(last.Prev(), "", start.Add(time.Hour)))
		require.Less(t, time.Since(start), 5*time.Second, "a walk to it would take years")
	}
}

func TestAReservationHoldsInEverySpelling(t *testing.T) {
	a, err := ParseAddr("FD00:0:0::0001")
	require.NoError(t, err)
	p, _ := pool(t, Spec{Ranges: []Range{subnet("fd00::/126")}, Reserved: map[string]netip.Addr{"master-0": a}})
	require.Equal(t, "fd00::2", claim(t, p, "somebody"))
	require.Equal(t, "fd00::1", claim(t, p, "master-0"))
}

func TestTheSameClaimIsServedOnceThereIsRoom(t *testing.T) {
	small := Spec{Name: "p", Ranges: []Range{between("10.0.0.1", "10.0.0.1")}}
	p, _ := pool(t, small)
	claim(t, p, "first")
	_, err := p.Claim(Request{Claim: "waits"})
	require.ErrorIs(t, err, ErrExhausted)
	small.Ranges = append(small.Ranges, between("10.0.0.2", "10.0.0.2"))
	_, err = p.Resize(small)
	require.NoError(t, err)
	require.Equal(t, "10.0.0.2", claim(t, p, "waits"))
}

func TestABadWishDoesNotHoldUpOthers(t *testing.T) {
	p, _ := pool(t, Spec{Ranges: []Range{between("10.0.0.1", "10.0.0.9")}})
	_, err := p.Claim(Request{Claim: "bad", Address: addr("192.0.2.1")})
	require.ErrorIs(t, err, ErrOutside)
	require.NotErrorIs(t, err, ErrExhausted, "the pool is not exhausted, and must not say so")
	require.Equal(t, "10.0.0.1", claim(t, p, "good"))
}

// A pool that shrinks below what is held has no negative numbers, and nothing to panic about.
func TestShrinkingBelowWhatIsHeld(t *testing.T) {
	p, _ := pool(t, Spec{Prefix: 24, Gateway: addr("10.0.0.254"), Ranges: []Range{between("10.0.0.1", "10.0.0.9")}})
	for i := range 9 {
		claim(t, p, fmt.Sprint(i))
	}
	out, err := p.Resize(Spec{Name: "storage", Prefix: 25, Ranges: []Range{between("10.0.0.1", "10.0.0.2")}})
	require.NoError(t, err)
	require.Len(t, out, 7)
	require.Equal(t, "10.0.0.3/24", out[0].Prefix().String(), "who is outside keeps the network it was given")
	require.Equal(t, "10.0.0.254", out[0].Gateway.String())
	require.Equal(t, Stats{Total: CountOf(2), Used: 9, Outside: 7}, p.Stats())
	_, err = p.Claim(Request{Claim: "new"})
	require.ErrorIs(t, err, ErrExhausted)
	p.Release("8")
	_, err = p.Claim(Request{Claim: "new"})
	require.ErrorIs(t, err, ErrExhausted, "what is outside is not allocated again")
	p.Release("0")
	require.Equal(t, "10.0.0.1", claim(t, p, "new"))
}

func TestRandomNeverRepeatsAndUsesEverything(t *testing.T) {
	p, _ := pool(t, Spec{Strategy: Random, Ranges: []Range{between("10.0.0.1", "10.0.0.200"), between("10.0.2.1", "10.0.2.56")}})
	seen := map[string]bool{}
	for i := range 256 {
		seen[claim(t, p, fmt.Sprint(i))] = true
	}
	require.Len(t, seen, 256)
	huge, _ := pool(t, Spec{Strategy: Random, Ranges: []Range{subnet("fd00::/64")}})
	require.NotEqual(t, claim(t, huge, "a"), claim(t, huge, "b"), "a pool without bounds on its index is no obstacle")
}

func TestCountsAreExact(t *testing.T) {
	for s, want := range map[string]string{
		"10.0.0.0/24": "254", "10.0.0.0/31": "2", "10.0.0.1/32": "1", "fd00::/64": "18446744073709551615",
		"fd00::/20": "324518553658426726783156020576255", "::/0": "340282366920938463463374607431768211455",
	} {
		p, _ := pool(t, Spec{Ranges: []Range{subnet(s)}})
		require.Equal(t, want, p.Stats().Total.String(), s)
	}
}

func TestQuarantineIsNotSkippedByTheNextClaim(t *testing.T) {
	p, c := pool(t, Spec{Ranges: []Range{between("10.0.0.1", "10.0.0.3")}, Quarantine: time.Minute})
	require.Equal(t, "10.0.0.1", claim(t, p, "a"))
	p.Release("a")
	require.Equal(t, "10.0.0.2", claim(t, p, "b"), "not the lowest: somebody may still answer there")
	c.t = c.t.Add(time.Minute)
	require.Equal(t, "10.0.0.1", claim(t, p, "c"))
}

// Many at once: nobody gets what another has, and nothing is lost.
func TestRace(t *testing.T) {
	p, _ := pool(t, Spec{Ranges: []Range{subnet("10.0.0.0/22")}, Strategy: Random})
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r := rand.New(rand.NewPCG(uint64(w), 1))
			for i := range 300 {
				name := fmt.Sprint(w, "/", r.IntN(40))
				switch i % 5 {
				case 0, 1, 2:
					_, _ = p.Claim(Request{Claim: name})
				case 3:
					p.Release(name)
				case 4:
					p.Withdraw(name)
					p.Stats()
				}
			}
		}()
	}
	wg.Wait()
	held := map[netip.Addr]bool{}
	for w := range 8 {
		for i := range 40 {
			if l, ok := p.Of(fmt.Sprint(w, "/", i)); ok {
				require.False(t, held[l.Address], "%s twice", l.Address)
				held[l.Address] = true
			}
		}
	}
	require.Equal(t, len(held), p.Stats().Used)
	tree(t, p)
}

func FuzzParseSpan(f *testing.F) {
	for _, s := range []string{"10.0.0.1", "10.0.0.0/24", "fd00::1-fd00::9", "a-b", "::ffff:1.2.3.4/120", "-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseSpan(s)
		if err != nil {
			return
		}
		if !r.IsValid() || r.From().Is4In6() || r.From().Zone() != "" {
			t.Fatalf("%q became %v", s, r)
		}
		if again, err := ParseSpan(r.String()); err != nil || again != r {
			t.Fatalf("%q became %v, and that %v, %v", s, r, again, err)
		}
	})
}
