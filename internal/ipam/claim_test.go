package ipam

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSequentialTakesTheLowestOfTheFirstRangeThatHasOne(t *testing.T) {
	p, _ := pool(t, Spec{Gateway: addr("10.0.1.1"), Prefix: 24, DNS: []netip.Addr{addr("10.0.1.53")}, Ranges: []Range{
		{Start: addr("10.0.1.10"), End: addr("10.0.1.11")},
		{Start: addr("10.0.0.10"), End: addr("10.0.0.11"), Gateway: addr("10.0.0.1"), DNS: []netip.Addr{addr("10.0.0.53")}, Prefix: 25},
	}})
	require.Equal(t, "10.0.1.10", claim(t, p, "a"))
	require.Equal(t, "10.0.1.11", claim(t, p, "b"))
	l, err := p.Claim(Request{Claim: "c"})
	require.NoError(t, err)
	require.Equal(t, "10.0.0.10/25", l.Prefix().String())
	require.Equal(t, "10.0.0.1", l.Gateway.String())
	require.Equal(t, "[10.0.0.53]", fmt.Sprint(l.DNS))
	require.Equal(t, "10.0.1.10", claim(t, p, "a"), "a claim that holds an address is given it again")
	p.Release("a")
	require.Equal(t, "10.0.1.10", claim(t, p, "d"))
}

func TestAnExhaustedPoolSaysSoAndServesAgain(t *testing.T) {
	p, c := pool(t, Spec{Ranges: []Range{between("10.0.0.1", "10.0.0.2")}, Quarantine: time.Minute})
	claim(t, p, "a")
	claim(t, p, "b")
	_, err := p.Claim(Request{Claim: "c"})
	require.ErrorIs(t, err, ErrExhausted)
	require.EqualError(t, err, "pool storage is exhausted: of 2 addresses 2 are held, 0 reserved, 0 in quarantine")
	_, ok := p.Release("a")
	require.True(t, ok, "quarantine does not hold up a release")
	_, err = p.Claim(Request{Claim: "c"})
	var no *Refusal
	require.ErrorAs(t, err, &no)
	require.Equal(t, c.t.Add(time.Minute), no.RetryAt, "the refusal says when to come again")
	c.t = no.RetryAt
	require.Equal(t, "10.0.0.1", claim(t, p, "c"))
}

func TestWishes(t *testing.T) {
	p, c := pool(t, Spec{
		Ranges: []Range{subnet("10.0.0.0/28")}, Gateway: addr("10.0.0.1"), Exclude: nil, Quarantine: time.Hour,
		Reserved: map[string]netip.Addr{"master-0": addr("10.0.0.5")},
	})
	claim(t, p, "first")
	_, err := p.Claim(Request{Claim: "left", Host: "h0", Address: addr("10.0.0.9")})
	require.NoError(t, err)
	p.Release("left")
	for name, k := range map[string]struct {
		req  Request
		why  error
		text string
	}{
		"outside":     {Request{Claim: "x", Address: addr("10.0.1.1")}, ErrOutside, "pool storage: address 10.0.1.1 lies outside its ranges"},
		"family":      {Request{Claim: "x", Address: addr("fd00::1")}, ErrOutside, "pool storage: address fd00::1 is not IPv4, as the pool is"},
		"gateway":     {Request{Claim: "x", Address: addr("10.0.0.1")}, ErrOutside, "pool storage: address 10.0.0.1 is its gateway"},
		"broadcast":   {Request{Claim: "x", Address: addr("10.0.0.15")}, ErrOutside, "pool storage: address 10.0.0.15 is the broadcast address of 10.0.0.0/28"},
		"held":        {Request{Claim: "x", Address: addr("10.0.0.2")}, ErrHeld, "pool storage: address 10.0.0.2 is held by first"},
		"reserved":    {Request{Claim: "x", Name: "x", Address: addr("10.0.0.5")}, ErrReserved, "pool storage: address 10.0.0.5 is reserved for master-0"},
		"conflicting": {Request{Claim: "x", Name: "master-0", Address: addr("10.0.0.6")}, ErrConflict, "pool storage: address 10.0.0.6 is asked for by master-0, for which 10.0.0.5 is reserved"},
		"second":      {Request{Claim: "first", Address: addr("10.0.0.6")}, ErrConflict, "pool storage: address 10.0.0.6 is asked for by first, which holds 10.0.0.2"},
		"quarantined": {Request{Claim: "x", Address: addr("10.0.0.9")}, ErrQuarantined, "pool storage: address 10.0.0.9 is in quarantine until 2026-03-01T13:00:00Z"},
		"nobody":      {Request{}, ErrConflict, "pool storage cannot be claimed by a claim without an identity"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := p.Claim(k.req)
			require.ErrorIs(t, err, k.why)
			require.EqualError(t, err, k.text)
		})
	}
	l, err := p.Claim(Request{Claim: "y", Host: "h0", Address: addr("::ffff:10.0.0.9")})
	require.NoError(t, err, "quarantine is not against the host that had it, and one address has one form")
	require.Equal(t, addr("10.0.0.9"), l.Address)
	c.t = c.t.Add(2 * time.Hour)
	require.Equal(t, "10.0.0.5", claim(t, p, "master-0"))
}

func TestNamesAndReservations(t *testing.T) {
	p, _ := pool(t, Spec{Ranges: []Range{between("10.0.0.1", "10.0.0.4")},
		Reserved: map[string]netip.Addr{"m0": addr("::ffff:10.0.0.1"), "m1": addr("10.0.0.2")}})
	require.Equal(t, "10.0.0.3", claim(t, p, "worker"))
	require.Equal(t, "10.0.0.2", claim(t, p, "m1"))
	_, err := p.Claim(Request{Claim: "another object", Name: "m1"})
	require.EqualError(t, err, "pool storage: address 10.0.0.2 is reserved for m1, held by m1")
	p.Release("m1")
	require.Equal(t, "10.0.0.4", claim(t, p, "worker-2"), "a released reservation stays one")
	require.Equal(t, "10.0.0.2", claim(t, p, "m1"))
	_, err = p.Resize(Spec{Name: "storage", Ranges: []Range{between("10.0.0.1", "10.0.0.4")}})
	require.NoError(t, err)
	require.Equal(t, "10.0.0.1", claim(t, p, "worker-3"), "it is reserved no longer")
}

// A resting address that becomes reserved is not free, neither then nor when its rest is over.
func TestAReservationOfARestingAddress(t *testing.T) {
	spec := Spec{Name: "storage", Ranges: []Range{between("10.0.0.1", "10.0.0.2")}, Quarantine: time.Hour}
	p, c := pool(t, spec)
	claim(t, p, "first")
	p.Release("first")
	spec.Reserved = map[string]netip.Addr{"m0": addr("10.0.0.1")}
	_, err := p.Resize(spec)
	require.NoError(t, err)
	require.Equal(t, Stats{Total: CountOf(2), Free: CountOf(1), Reserved: 1}, p.Stats())
	c.t = c.t.Add(2 * time.Hour)
	require.Equal(t, "10.0.0.2", claim(t, p, "worker"))
	require.Equal(t, "10.0.0.1", claim(t, p, "m0"))
}

// What is withdrawn was never held: it does not rest, and is not kept for a host.
func TestWithdraw(t *testing.T) {
	p, _ := pool(t, Spec{Ranges: []Range{between("10.0.0.1", "10.0.0.1")}, Strategy: Sticky, Quarantine: time.Hour})
	_, err := p.Claim(Request{Claim: "a", Host: "h0"})
	require.NoError(t, err)
	p.Withdraw("a")
	p.Withdraw("nobody")
	require.Equal(t, Stats{Total: CountOf(1), Free: CountOf(1)}, p.Stats())
	_, err = p.Claim(Request{Claim: "b", Host: "h1"})
	require.NoError(t, err)
}

func TestStickyReturnsToTheHost(t *testing.T) {
	spec := Spec{Ranges: []Range{subnet("10.0.0.0/29")}, Strategy: Sticky, Quarantine: time.Hour}
	p, c := pool(t, spec)
	ask := func(claim, host string) string {
		l, err := p.Claim(Request{Claim: claim, Host: host})
		require.NoError(t, err)
		return l.Address.String()
	}
	had := ask("machine-a", "host-0")
	p.Release("machine-a")
	require.Equal(t, had, ask("machine-b", "host-0"), "the same host, another machine, in quarantine")
	p.Release("machine-b")
	c.t = c.t.Add(2 * time.Hour)
	for i := range 5 {
		require.NotEqual(t, had, ask(fmt.Sprint("other", i), fmt.Sprint("other-host-", i)))
	}
	require.Equal(t, 1, p.Stats().Idle)
	require.Equal(t, had, ask("machine-c", "host-0"))
	p.Release("machine-c")
	c.t = c.t.Add(2 * time.Hour)
	require.Equal(t, had, ask("needy", "host-9"), "given away last, but given")

	fresh, _ := pool(t, spec)
	l, err := fresh.Claim(Request{Claim: "z", Host: "host-0"})
	require.NoError(t, err)
	require.Equal(t, had, l.Address.String(), "a lost memory leads to the same address")
}

func TestRestoreBelievesTheRecords(t *testing.T) {
	p, _ := pool(t, Spec{Ranges: []Range{between("10.0.0.1", "10.0.0.4")}})
	claim(t, p, "a")
	require.Empty(t, p.Restore(Holding{Claim: "a", Address: addr("10.0.0.1")}))
	require.Equal(t, []Holding{{Claim: "a", Address: addr("10.0.0.1")}}, p.Restore(Holding{Claim: "b", Address: addr("10.0.0.1")}))
	_, ok := p.Of("a")
	require.False(t, ok)
	require.Equal(t, "10.0.0.2", claim(t, p, "a"))
	require.Empty(t, p.Restore(Holding{Claim: "far", Address: addr("192.0.2.1")}))
	l, ok := p.Holder(addr("192.0.2.1"))
	require.True(t, ok)
	require.True(t, l.Outside)
	require.Equal(t, Stats{Total: CountOf(4), Free: CountOf(2), Used: 3, Outside: 1}, p.Stats())
	p.Release("far")
	require.Equal(t, 0, p.Stats().Outside)
}
