package apitest

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

const (
	// restWindow is how long controllers are watched for reconciliations that nothing asked for.
	restWindow = 3 * time.Second
	// restTimeout is how long controllers may take to come to rest.
	restTimeout = time.Minute
)

// RequireRest fails the test unless each controller comes to rest: over three seconds it reconciles at most once a second. Without
// names it judges every controller of the process. It reads controller-runtime's own counters.
func RequireRest(t testing.TB, controllers ...string) {
	t.Helper()
	var busy map[string]float64
	for end := time.Now().Add(restTimeout); time.Now().Before(end); {
		before := reconciles(t)
		time.Sleep(restWindow)
		if busy = tooMany(before, reconciles(t), controllers); len(busy) == 0 {
			return
		}
	}
	require.Empty(t, busy, "reconciliations in %s of controllers that have nothing to do", restWindow)
}

// tooMany is how often controllers reconciled that did so more than once a second.
func tooMany(before, after map[string]float64, controllers []string) map[string]float64 {
	if len(controllers) == 0 {
		controllers = slices.Collect(maps.Keys(after))
	}
	busy := map[string]float64{}
	for _, name := range controllers {
		if n := after[name] - before[name]; n > restWindow.Seconds() {
			busy[name] = n
		}
	}
	return busy
}

// reconciles counts the reconciliations of each controller so far.
func reconciles(t testing.TB) map[string]float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	require.NoError(t, err)
	counts := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetName() == "controller" {
					counts[label.GetValue()] += m.GetCounter().GetValue()
				}
			}
		}
	}
	return counts
}
