package audit_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go4.org/netipx"

	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/audit"
)

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

func spec(name, from, to string) ipam.Spec {
	return ipam.Spec{Name: name, Network: "net", Ranges: []ipam.Range{{Start: addr(from), End: addr(to)}}}
}

// sound is a pool with two claims, everything in order.
func sound() audit.Facts {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return audit.Facts{
		Pools:  []ipam.Spec{spec("p", "10.0.0.1", "10.0.0.9")},
		Claims: []audit.Claim{{Name: "IPClaim a", Pool: "p", UID: "1", Address: "IPAddress p-1"}, {Name: "IPClaim b", Pool: "p", UID: "2", Address: "IPAddress p-2"}, {Name: "IPClaim waits", Pool: "p"}},
		Addresses: []audit.Address{
			{Name: "IPAddress p-1", Pool: "p", Claim: "IPClaim a", Address: addr("10.0.0.1")},
			{Name: "IPAddress p-2", Pool: "p", Claim: "IPClaim b", Address: addr("::ffff:10.0.0.2")}},
		Locks: []audit.Lock{
			{Name: "net.1", Network: "net", Pool: "p", Address: addr("10.0.0.1"), State: audit.Held, Claim: "IPClaim a", ClaimUID: "1"},
			{Name: "net.2", Network: "net", Pool: "p", Address: addr("10.0.0.2"), State: audit.Held, Claim: "IPClaim b", ClaimUID: "2"},
			{Name: "net.3", Network: "net", Pool: "p", Address: addr("10.0.0.3"), State: audit.Quarantined, Until: now.Add(time.Minute)}},
		Locked: true, Now: now,
	}
}

func TestNothingToSayAboutWhatIsSound(t *testing.T) {
	require.Empty(t, audit.Check(sound()))
	f := sound()
	f.Locks, f.Locked = nil, false
	require.Empty(t, audit.Check(f), "records from before there were locks")
}

func TestFindings(t *testing.T) {
	for name, k := range map[string]struct {
		spoil func(*audit.Facts)
		kind  audit.Problem
		text  string
	}{
		"address without claim": {func(f *audit.Facts) { f.Claims, f.Locks = f.Claims[1:], f.Locks[1:] },
			audit.Leak, "pool p: address 10.0.0.1 is allocated to IPClaim a, which does not exist"},
		"address its claim does not mean": {func(f *audit.Facts) {
			f.Addresses = append(f.Addresses, audit.Address{Name: "IPAddress p-9", Pool: "p", Claim: "IPClaim a", Address: addr("10.0.0.9")})
		}, audit.Leak, "pool p: address 10.0.0.9 is allocated to IPClaim a, which has IPAddress p-1 instead"},
		"address of no pool": {func(f *audit.Facts) {
			f.Addresses = append(f.Addresses, audit.Address{Name: "IPAddress q", Pool: "q", Claim: "IPClaim q", Address: addr("10.0.0.9")})
		}, audit.Outside, "IPAddress q is of pool q, which does not exist"},
		"shrunk": {func(f *audit.Facts) { f.Pools[0] = spec("p", "10.0.0.1", "10.0.0.1") },
			audit.Outside, "pool p: address ::ffff:10.0.0.2 of IPClaim b lies outside its ranges"},
		"no lock": {func(f *audit.Facts) { f.Locks = f.Locks[1:] },
			audit.Unlocked, "pool p: address 10.0.0.1 of IPClaim a is not locked in network net"},
		"another's lock": {func(f *audit.Facts) { f.Locks[0].Claim, f.Locks[0].ClaimUID = "IPClaim b", "2" },
			audit.Duplicate, "pool p: address 10.0.0.1 is allocated to IPClaim a, but its lock net.1 is held by IPClaim b"},
		"in quarantine and given": {func(f *audit.Facts) {
			f.Locks[0] = audit.Lock{Name: "net.1", Network: "net", Address: addr("10.0.0.1"), State: audit.Quarantined, Until: f.Now}
		},
			audit.Duplicate, "pool p: address 10.0.0.1 is allocated to IPClaim a, but its lock net.1 is in state Quarantined"},
		"lock without claim": {func(f *audit.Facts) {
			f.Locks = append(f.Locks, audit.Lock{Name: "net.7", Network: "net", Pool: "p", Address: addr("10.0.0.7"), State: audit.Held, Claim: "IPClaim gone"})
		}, audit.Leak, "pool p: address 10.0.0.7 is locked for IPClaim gone, which does not exist"},
		"lock of an earlier claim": {func(f *audit.Facts) { f.Claims[0].UID = "77" },
			audit.Leak, "pool p: address 10.0.0.1 is locked for an earlier claim with the name of IPClaim a"},
		"quarantine without end": {func(f *audit.Facts) { f.Locks[2].Until = f.Now.Add(-2 * time.Hour) },
			audit.Leak, "pool p: address 10.0.0.3 should have left quarantine at 2026-03-01T10:00:00Z"},
		"record gone": {func(f *audit.Facts) { f.Addresses = f.Addresses[1:] },
			audit.Lost, "pool p: IPClaim a has IPAddress p-1, which does not exist: its address can be allocated to another claim"},
		"another's record": {func(f *audit.Facts) { f.Claims[2].Address = "IPAddress p-2" },
			audit.Duplicate, "pool p: IPClaim waits has IPAddress p-2, which is of IPClaim b"},
		"overlapping pools": {func(f *audit.Facts) { f.Pools = append(f.Pools, spec("q", "10.0.0.9", "10.0.0.12")) },
			audit.Conflict, "pool p: 10.0.0.1-10.0.0.9 overlaps 10.0.0.9-10.0.0.12 of pool q at 10.0.0.9 in network net"},
		"invalid pool": {func(f *audit.Facts) { f.Pools = append(f.Pools, spec("q", "10.0.1.9", "10.0.1.2")) },
			audit.Conflict, "pool q: range 10.0.1.9-10.0.1.2 is reversed: it ends before it starts"},
		"DHCP gave it away": {func(f *audit.Facts) {
			f.Leases = []audit.Leased{{Network: "net", Client: "52:54:00:aa:bb:cc", Address: addr("10.0.0.5")}, {Network: "net", Client: "x", Address: addr("10.0.0.50")}}
		}, audit.Taken, "pool p: address 10.0.0.5 is static, but DHCP leased it to 52:54:00:aa:bb:cc"},
	} {
		t.Run(name, func(t *testing.T) {
			f := sound()
			k.spoil(&f)
			found := audit.Check(f)
			require.Len(t, found, 1, "%+v", found)
			require.Equal(t, k.kind, found[0].Problem)
			require.Equal(t, k.text, found[0].Text)
			require.NotEmpty(t, found[0].Remedy)
			require.NotEmpty(t, append(found[0].Objects, found[0].Pool))
		})
	}
}

// Two kinds of claim, two pools of one network: an address twice is found wherever it hides.
func TestDuplicatesAcrossPoolsAndKinds(t *testing.T) {
	f := sound()
	f.Locks, f.Locked = nil, false
	f.Pools = append(f.Pools, spec("q", "10.0.1.1", "10.0.1.9"))
	f.Claims = append(f.Claims, audit.Claim{Name: "IPAddressClaim a", Pool: "q", Address: "IPAddress(capi) a"})
	f.Addresses = append(f.Addresses, audit.Address{Name: "IPAddress(capi) a", Pool: "q", Claim: "IPAddressClaim a", Address: addr("10.0.0.1")})
	found := audit.Check(f)
	require.Equal(t, audit.Duplicate, found[0].Problem)
	require.Equal(t, "address 10.0.0.1 of network net is allocated to IPAddressClaim a (pool q) and IPClaim a (pool p) at once", found[0].Text)
	require.Equal(t, audit.Outside, found[1].Problem)
	slices.Reverse(f.Addresses)
	require.Equal(t, found, audit.Check(f), "the order of the records does not matter")
	f.Pools[1].Network = "other"
	require.Equal(t, audit.Outside, audit.Check(f)[0].Problem, "in another network it is another address")
}

func TestAHundredThousandRecords(t *testing.T) {
	f := audit.Facts{Pools: []ipam.Spec{{Name: "p", Network: "net", Ranges: []ipam.Range{{Subnet: netip.MustParsePrefix("fd00::/64")}}}}, Locked: true}
	r := netipx.RangeOfPrefix(netip.MustParsePrefix("fd00::/64"))
	a := r.From()
	for i := range 100_000 {
		a = a.Next()
		name := fmt.Sprint("IPClaim ", i)
		f.Claims = append(f.Claims, audit.Claim{Name: name, Pool: "p", Address: "A" + name})
		f.Addresses = append(f.Addresses, audit.Address{Name: "A" + name, Pool: "p", Claim: name, Address: a})
		f.Locks = append(f.Locks, audit.Lock{Name: "L" + name, Network: "net", Pool: "p", Address: a, State: audit.Held, Claim: name})
	}
	require.Empty(t, audit.Check(f))
}
