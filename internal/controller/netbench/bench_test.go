//go:build bench

package netbench

import (
	"context"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
)

var shared = apitest.New(apitest.Options{
	CRDs: []string{apitest.Nmstate}, AddToScheme: []func(*runtime.Scheme) error{nmstatev1.AddToScheme, nmstatev1beta1.AddToScheme},
})

// heapGrowth, in percent, has the collector of the simulated agents take less of the cores, which they share with the API server;
// heapLimit, in bytes, leaves the API server its part of a machine of 24 GiB.
const (
	heapGrowth = 400
	heapLimit  = 12 << 30
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(heapGrowth)
	debug.SetMemoryLimit(heapLimit)
	os.Exit(shared.Run(m))
}

// quietTime is how long the fleet is observed when nothing changes.
const quietTime = 10 * time.Second

// number reads a size of the measurement.
func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, name)
	require.Positive(t, n, name)
	return n
}

// TestBenchPolicies is part of "make bench-network": policies on simulated nodes, from their creation until all are in force everywhere,
// then an edit of all, then rest. It prints a table and judges nothing but that it converged.
func TestBenchPolicies(t *testing.T) {
	nodes, policies := number(t, "LCA_BENCH_NODES", 100), number(t, "LCA_BENCH_POLICIES", 5)
	f := newFleet(t, nodes)
	fmt.Printf("| %d nodes, %d policies | until in force | writes of a node for each policy | writes of the operator for each node and policy |"+
		" CPU of the API server for each node and policy |\n", nodes, policies)
	fmt.Println("|---|---|---|---|---|")
	f.measure("first", policies, func() { f.create(policies) })
	f.measure("edited", policies, func() { f.edit(policies) })

	f.counts.reset()
	time.Sleep(quietTime) // what is measured is that nothing happens
	agents, _ := f.counts.agents.take()
	operator, _ := f.counts.operator.take()
	fmt.Printf("| at rest, %s | | %d in all | %d in all | |\n", quietTime, agents, operator)
}

// measure runs one change until every policy reports it, and prints what it cost.
func (f *fleet) measure(name string, policies int, change func()) {
	f.t.Helper()
	f.counts.reset()
	began, cpu := time.Now(), f.serverCPU()
	change()
	f.converges(policies)
	took := time.Since(began)
	cpu = f.serverCPU() - cpu
	agents, byAgents := f.counts.agents.take()
	operator, byOperator := f.counts.operator.take()
	pairs := float64(policies * f.size)
	fmt.Printf("| %s | %s | %.2f | %.2f | %.0f ms |\n", name, took.Round(10*time.Millisecond), float64(agents)/pairs, float64(operator)/pairs,
		1000*cpu/pairs)
	for who, byKind := range map[string]map[string]int{"nodes": byAgents, "operator": byOperator} {
		for _, kind := range slices.Sorted(maps.Keys(byKind)) {
			f.t.Logf("%s, by the %s: %.2f %s", name, who, float64(byKind[kind])/pairs, kind)
		}
	}
}

// serverCPU is the time in seconds that the API server's process has computed, without etcd.
func (f *fleet) serverCPU() float64 {
	f.t.Helper()
	c, err := kubernetes.NewForConfig(f.server.Config)
	require.NoError(f.t, err)
	text, err := c.RESTClient().Get().AbsPath("/metrics").DoRaw(f.t.Context())
	require.NoError(f.t, err)
	const metric = "\nprocess_cpu_seconds_total "
	_, after, found := strings.Cut(string(text), metric)
	require.True(f.t, found, "the API server does not tell its CPU time")
	value, _, _ := strings.Cut(after, "\n")
	seconds, err := strconv.ParseFloat(value, 64)
	require.NoError(f.t, err)
	return seconds
}

func policyName(i int) string { return fmt.Sprintf("bench-%d", i) }

// document is a route of the policy's own, so that policies do not conflict.
func document(policy, host int) *runtime.RawExtension {
	return &runtime.RawExtension{Raw: fmt.Appendf(nil, `{"routes":{"config":[{"destination":"198.18.%d.%d/32","next-hop-interface":"br-ex",`+
		`"next-hop-address":"192.0.2.1"}]}}`, policy%256, host)}
}

func (f *fleet) create(policies int) {
	all := intstr.FromString("100%")
	for i := range policies {
		p := &nmstatev1.NodeNetworkConfigurationPolicy{ObjectMeta: metav1.ObjectMeta{Name: policyName(i)}}
		p.Spec.MaxUnavailable, p.Spec.DesiredState = &all, document(i, 1)
		require.NoError(f.t, f.api.Create(f.t.Context(), p))
	}
}

func (f *fleet) edit(policies int) {
	for i := range policies {
		p := f.policy(i)
		p.Spec.DesiredState = document(i, 2)
		require.NoError(f.t, f.api.Update(f.t.Context(), p))
	}
}

// converges waits until every policy is in force on every node, in its present generation. Each policy is asked for until it is, so
// that the waiting costs the API server little.
func (f *fleet) converges(policies int) {
	f.t.Helper()
	want := fmt.Sprintf("%d/%d nodes successfully configured", f.size, f.size)
	done := 0
	f.until("policies in force", policies, func() int {
		for done < policies && available(f.policy(done), want) {
			done++
		}
		return done
	})
}

func available(p *nmstatev1.NodeNetworkConfigurationPolicy, message string) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == nmstatev1.PolicyAvailable && c.Status == metav1.ConditionTrue && c.Message == message {
			return p.Status.ObservedGeneration == p.Generation
		}
	}
	return false
}

func (f *fleet) policy(i int) *nmstatev1.NodeNetworkConfigurationPolicy {
	f.t.Helper()
	p := &nmstatev1.NodeNetworkConfigurationPolicy{}
	require.NoError(f.t, f.api.Get(context.Background(), key(policyName(i)), p))
	return p
}
