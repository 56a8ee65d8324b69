package ipam_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

// promisedClaim is what one more claim may cost among a million.
const promisedClaim = 10 * time.Microsecond

// batch claims are measured together, rounds times. The best round counts: whatever else
// the machine does can only make a round slower.
const (
	batch  = 1000
	rounds = 21
)

// load is one way to use a pool.
type load struct {
	name, subnet string
	strategy     ipam.Strategy
	wish         bool // ask for given addresses, far apart
}

// BenchmarkOneMoreClaim tells what a claim costs a pool that holds many. Its size is in
// the name, so it counts for itself: run it with -benchtime 1x.
func BenchmarkOneMoreClaim(b *testing.B) {
	for _, l := range []load{
		{"sequential-v4", "10.0.0.0/8", ipam.Sequential, false},
		{"sequential-v6", "fd00::/64", ipam.Sequential, false},
		{"random-v4", "10.0.0.0/8", ipam.Random, false},
		{"random-v6", "fd00::/64", ipam.Random, false},
		{"sticky-v4", "10.0.0.0/8", ipam.Sticky, false},
		{"given-v4", "10.0.0.0/8", ipam.Sequential, true},
		{"given-v6", "fd00::/64", ipam.Sequential, true},
	} {
		var first time.Duration
		for _, n := range []int{1_000, 10_000, 100_000, 1_000_000} {
			b.Run(fmt.Sprintf("%s/held=%d", l.name, n), func(b *testing.B) {
				cost, bytes := measure(b, l, n)
				if first == 0 {
					first = cost
				}
				b.ReportMetric(0, "ns/op") // of filling the pool, which says nothing
				b.ReportMetric(float64(cost.Nanoseconds()), "ns/claim")
				b.ReportMetric(float64(cost)/float64(first), "x-of-1k")
				b.ReportMetric(bytes, "B/address")
				if n == 1_000_000 && cost > promisedClaim {
					b.Errorf("one more claim among %d costs %s, more than %s", n, cost, promisedClaim)
				}
			})
		}
	}
}

// measure fills a pool with n claims and tells the cost of one more, and the memory of one.
func measure(b *testing.B, l load, n int) (best time.Duration, bytes float64) {
	runtime.LockOSThread() // worked measures this thread
	defer runtime.UnlockOSThread()
	before := heap()
	p, err := ipam.New(ipam.Spec{Name: "bench", Ranges: []ipam.Range{{Subnet: netip.MustParsePrefix(l.subnet)}}, Strategy: l.strategy},
		ipam.Options{Now: time.Now, Rand: rand.NewPCG(1, 2)})
	if err != nil {
		b.Fatal(err)
	}
	for i := range n {
		take(b, p, request(l, i))
	}
	bytes = float64(heap()-before) / float64(n)
	reqs := make([]ipam.Request, batch)
	for r := range rounds {
		for i := range reqs {
			reqs[i] = request(l, n+r*batch+i)
		}
		start := worked(b)
		for _, q := range reqs {
			take(b, p, q)
		}
		if took := (worked(b) - start) / batch; best == 0 || took < best {
			best = took
		}
		for _, q := range reqs {
			p.Release(q.Claim)
		}
	}
	return best, bytes
}

func request(l load, i int) ipam.Request {
	r := ipam.Request{Claim: fmt.Sprintf("cluster-a/machine-%07d-storage", i)}
	if l.strategy == ipam.Sticky {
		r.Host = fmt.Sprintf("host-%07d", i)
	}
	if l.wish {
		r.Address = far(l, uint32(i))
	}
	return r
}

// far spreads i over the subnet: an odd factor permutes 23 bits.
func far(l load, i uint32) netip.Addr {
	k := i * 2654435761 & 0x7fffff
	if netip.MustParsePrefix(l.subnet).Addr().Is4() {
		return netip.AddrFrom4([4]byte{10, byte(k >> 16), byte(k >> 8), byte(k)}).Next()
	}
	return netip.AddrFrom16([16]byte{0: 0xfd, 8: byte(k >> 16), 10: byte(k >> 8), 12: byte(k), 15: 1})
}

func take(b *testing.B, p *ipam.Pool, r ipam.Request) {
	if _, err := p.Claim(r); err != nil {
		b.Fatal(err)
	}
}

// worked is the processor time of this thread: what others do on a busy machine is not
// the pool's cost.
func worked(b *testing.B) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return time.Duration(t.Nano())
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
