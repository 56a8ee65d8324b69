// Command ipambench measures what one more claim costs a pool that holds many, and
// prints a table. It fails when a figure that docs/ipam.md promises is missed.
package main

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

// The promises: one claim among a million, and how much slower among 100k than 1k.
const (
	promisedClaim  = 10 * time.Microsecond
	promisedGrowth = 1.5
)

// batch claims are measured together, rounds times; the median round counts.
const (
	batch  = 1000
	rounds = 31
)

var sizes = []int{1_000, 10_000, 100_000, 1_000_000}

// load is one way to use a pool.
type load struct {
	name     string
	subnet   string
	strategy ipam.Strategy
	wish     bool // ask for given addresses, far apart
}

func main() {
	loads := []load{
		{"sequential /8", "10.0.0.0/8", ipam.Sequential, false},
		{"sequential /64", "fd00::/64", ipam.Sequential, false},
		{"random /8", "10.0.0.0/8", ipam.Random, false},
		{"random /64", "fd00::/64", ipam.Random, false},
		{"sticky /8", "10.0.0.0/8", ipam.Sticky, false},
		{"given address /8", "10.0.0.0/8", ipam.Sequential, true},
		{"given address /64", "fd00::/64", ipam.Sequential, true},
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "one more claim in\t1,000 held\t10,000\t100,000\t1,000,000\t100k : 1k\tmemory per address")
	missed := false
	for _, l := range loads {
		missed = row(w, l) || missed
	}
	w.Flush()
	if missed {
		fmt.Fprintf(os.Stderr, "ipambench: promised are %s at 1,000,000 and a growth of %.1f\n", promisedClaim, promisedGrowth)
		os.Exit(1)
	}
}

func row(w *tabwriter.Writer, l load) (missed bool) {
	fmt.Fprint(w, l.name)
	var costs []time.Duration
	var bytes float64
	for _, n := range sizes {
		var cost time.Duration
		cost, bytes = measure(l, n)
		costs = append(costs, cost)
		fmt.Fprintf(w, "\t%s", cost)
	}
	growth := float64(costs[2]) / float64(costs[0])
	fmt.Fprintf(w, "\t%.2f\t%.0f B\n", growth, bytes)
	w.Flush()
	return costs[3] > promisedClaim || growth > promisedGrowth
}

// measure fills a pool with n claims and tells the cost of one more, and the memory of one.
func measure(l load, n int) (cost time.Duration, bytes float64) {
	before := heap()
	p, err := ipam.New(ipam.Spec{Name: "bench", Ranges: []ipam.Range{{Subnet: netip.MustParsePrefix(l.subnet)}}, Strategy: l.strategy},
		ipam.Options{Now: time.Now, Rand: rand.NewPCG(1, 2)})
	check(err)
	for i := range n {
		check(claim(p, request(l, i)))
	}
	bytes = float64(heap()-before) / float64(n)
	reqs := make([]ipam.Request, batch)
	var took []time.Duration
	for r := range rounds {
		for i := range reqs {
			reqs[i] = request(l, n+r*batch+i)
		}
		start := time.Now()
		for _, q := range reqs {
			check(claim(p, q))
		}
		took = append(took, time.Since(start)/batch)
		for _, q := range reqs {
			p.Release(q.Claim)
		}
	}
	slices.Sort(took)
	return took[len(took)/2], bytes
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

// far spreads i over the subnet: an odd factor permutes the 23 bits below its first 9.
func far(l load, i uint32) netip.Addr {
	k := i * 2654435761 & 0x7fffff
	if netip.MustParsePrefix(l.subnet).Addr().Is4() {
		return netip.AddrFrom4([4]byte{10, byte(k >> 16), byte(k >> 8), byte(k)}).Next()
	}
	return netip.AddrFrom16([16]byte{0: 0xfd, 8: byte(k >> 16), 10: byte(k >> 8), 12: byte(k), 15: 1})
}

func claim(p *ipam.Pool, r ipam.Request) error {
	_, err := p.Claim(r)
	return err
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "ipambench:", err)
		os.Exit(1)
	}
}
