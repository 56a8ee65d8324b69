//go:build bench

package ipam

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/caches"
)

// howMany reads a number from the environment, for a machine with less patience.
func howMany(t *testing.T, name string, usual int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

// huge is a pool that has room for everything.
func huge(s *metal3.IPPoolSpec) {
	subnet := metal3.IPSubnetStr("10.0.0.0/12")
	s.Pools, s.Prefix = []metal3.Pool{{Subnet: &subnet}}, 12
}

// each does something n times, many at a time.
func each(n int, do func(int)) {
	var done sync.WaitGroup
	next := make(chan int)
	for range 32 {
		done.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	done.Wait()
}

// served is how many claims have an address, as one replica sees it.
func (r *replica) served(t *testing.T, namespace string) (n int) {
	t.Helper()
	list := &metal3.IPClaimList{}
	require.NoError(t, r.Client.List(context.Background(), list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy))
	for i := range list.Items {
		if list.Items[i].Status.Address != nil {
			n++
		}
	}
	return n
}

// TestBenchEndToEnd is part of "make bench-ipam": claims against a real API server, two replicas at work.
func TestBenchEndToEnd(t *testing.T) {
	n := howMany(t, "LCA_BENCH_CLAIMS", 10000)
	w := newWorld(t)
	w.pool("p", huge)
	a, b := w.start(), w.start()
	w.poolReason("p", metal3.ReasonAvailable)
	attempts, done := a.writes.Load()+b.writes.Load(), a.done.Load()+b.done.Load()
	begun := time.Now()
	created := make(chan struct{})
	go func() {
		each(n, func(i int) { w.claim(fmt.Sprintf("c%d", i), "p") })
		close(created)
	}()
	// Counting in the cache of one replica costs the server nothing.
	marks := map[int]time.Duration{}
	step := max(n/10, 1)
	next := step
	require.Eventually(t, func() bool {
		for served := a.served(t, w.namespace); next <= served && next <= n; next += step {
			marks[next] = time.Since(begun)
		}
		return next > n
	}, time.Hour, 100*time.Millisecond, "all are served")
	<-created
	took := time.Since(begun)
	p := &metal3.IPPool{}
	w.eventually(func() bool { return w.get("p", p) == nil && p.Status.Used == int64(n) }, "the counts are written")
	attempts, done = a.writes.Load()+b.writes.Load()-attempts, a.done.Load()+b.done.Load()-done
	seen := map[string]bool{}
	list := &metal3.IPAddressList{}
	require.NoError(t, w.api.List(t.Context(), list, client.InNamespace(w.namespace)))
	for _, o := range list.Items {
		require.False(t, seen[string(o.Spec.Address)], "%s twice", o.Spec.Address)
		seen[string(o.Spec.Address)] = true
	}
	require.Len(t, seen, n)
	require.Len(t, w.locks(), n)
	rate := func(from, to int) float64 { return float64(to-from) / (marks[to] - marks[from]).Seconds() }
	fmt.Printf("| claims | replicas | time | claims/s first tenth | last tenth | writes/claim, counts of the pool included | attempts/claim of both | duplicates |\n|---|---|---|---|---|---|---|---|\n")
	fmt.Printf("| %d | 2 | %s | %.0f | %.0f | %.2f | %.2f | 0 |\n", n, took.Round(time.Millisecond), rate(0, step), rate(n-step, n), float64(done)/float64(n), float64(attempts)/float64(n))
}

// TestBenchRestart is part of "make bench-ipam": from the start of an operator to its first allocation, with so
// many addresses allocated.
func TestBenchRestart(t *testing.T) {
	n := howMany(t, "LCA_BENCH_ADDRESSES", 100000)
	caches.FillByList() // as the operator does
	w := newWorld(t)
	pool := w.pool("p", huge)
	begun := time.Now()
	each(n, func(i int) {
		c := w.claim(fmt.Sprintf("c%d", i), "p")
		address := fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255)
		if i == 0 {
			address = "10.15.0.1"
		}
		lock, o := given(w, pool, c, address)
		c.Status.Address = &metal3.ObjectReference{Name: o.Name}
		require.NoError(t, w.api.Create(context.Background(), lock))
		require.NoError(t, w.api.Create(context.Background(), o))
		require.NoError(t, w.api.Status().Update(context.Background(), c))
	})
	filled := time.Since(begun)
	alone := w.writtenOut(t)
	w.claim("new", "p")
	begun = time.Now()
	w.start()
	require.Eventually(t, func() bool { return w.addressNow("new") != "" }, 10*time.Minute, 20*time.Millisecond, "the new claim is served")
	took := time.Since(begun)
	p := &metal3.IPPool{}
	require.Eventually(t, func() bool { return w.get("p", p) == nil && p.Status.Used == int64(n+1) }, 10*time.Minute, time.Second)
	raw := &metal3.IPPool{}
	require.NoError(t, w.api.Get(t.Context(), types.NamespacedName{Namespace: w.namespace, Name: "p"}, raw))
	data, err := json.Marshal(raw)
	require.NoError(t, err)
	fmt.Printf("| addresses | restart to first allocation | the API server alone | bytes of the pool object | (time to fill) |\n|---|---|---|---|---|\n")
	fmt.Printf("| %d | %s | %s | %d | %s |\n", n, took.Round(time.Millisecond), alone.Round(time.Millisecond), len(data), filled.Round(time.Second))
}

// writtenOut is how long the API server needs to write out what an operator reads when it starts, for somebody who throws it away.
func (w *world) writtenOut(t *testing.T) time.Duration {
	t.Helper()
	configuration := rest.CopyConfig(w.server.Config)
	configuration.GroupVersion, configuration.NegotiatedSerializer = &schema.GroupVersion{}, serializer.NewCodecFactory(w.server.Scheme)
	server, err := rest.UnversionedRESTClientFor(configuration)
	require.NoError(t, err)
	begun := time.Now()
	for _, list := range []string{"ipam.metal3.io/v1alpha1/ipclaims", "ipam.metal3.io/v1alpha1/ipaddresses", "ipam.lca.openshift.io/v1alpha1/addresslocks"} {
		data, err := server.Get().AbsPath("/apis/"+list).Param("resourceVersion", "0").DoRaw(t.Context())
		require.NoError(t, err)
		require.NotEmpty(t, data)
	}
	return time.Since(begun)
}
