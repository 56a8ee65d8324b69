package netpolicy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
)

func TestCountsOfManyNodesAreWrittenRarely(t *testing.T) {
	p, now := pace{written: map[types.UID]time.Time{}}, time.Unix(1_700_000_000, 0)
	require.Zero(t, p.waitForCounts("a", 1000, now), "nothing was written yet")
	p.recordWrite("a", now)
	require.Equal(t, 10*time.Second, p.waitForCounts("a", 1000, now))
	require.Equal(t, 10*time.Millisecond, p.waitForCounts("a", 1, now), "those of a single node hardly wait")
	require.Zero(t, p.waitForCounts("a", 1000, now.Add(10*time.Second)))
	require.Zero(t, p.waitForCounts("b", 1000, now), "each policy has its own")
	p.dropPolicies(map[types.UID]bool{"b": true})
	require.Zero(t, p.waitForCounts("a", 1000, now))
}

// What an administrator waits for is written at once.
func TestNewsAreNoCounts(t *testing.T) {
	was := func() *nmstatev1.NodeNetworkConfigurationPolicy {
		p := &nmstatev1.NodeNetworkConfigurationPolicy{}
		p.Generation, p.Status.ObservedGeneration = 2, 2
		p.Status.Rollout = &nmstatev1.RolloutStatus{Phase: nmstatev1.PhaseRolling, Nodes: 1000, Configured: 4}
		p.Status.Conditions = condition.SetPolicy(nil, condition.PolicyProgressing, "4/1000", time.Unix(0, 0))
		return p
	}
	now := report{generation: 2, outcome: condition.PolicyProgressing, phase: nmstatev1.PhaseRolling}
	for name, c := range map[string]struct {
		change func(s *nmstatev1.RolloutStatus, r *report)
		counts bool
	}{
		"one more is configured":   {func(s *nmstatev1.RolloutStatus, _ *report) { s.Configured++ }, true},
		"one failed":               {func(s *nmstatev1.RolloutStatus, _ *report) { s.Failed++ }, false},
		"one was aborted":          {func(s *nmstatev1.RolloutStatus, _ *report) { s.Aborted++ }, false},
		"the first node may start": {func(s *nmstatev1.RolloutStatus, _ *report) { s.StartTime = &metav1.Time{Time: time.Unix(1, 0)} }, false},
		"another phase":            {func(_ *nmstatev1.RolloutStatus, r *report) { r.phase = nmstatev1.PhasePaused }, false},
		"all are configured":       {func(_ *nmstatev1.RolloutStatus, r *report) { r.outcome = condition.PolicyAvailable }, false},
		"an edit":                  {func(_ *nmstatev1.RolloutStatus, r *report) { r.generation = 3 }, false},
		"a conflict":               {func(_ *nmstatev1.RolloutStatus, r *report) { r.conflicts = "with another" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			before, then := was(), now
			after := before.Status.DeepCopy()
			c.change(after.Rollout, &then)
			require.Equal(t, c.counts, countsAlone(before, *after, then))
		})
	}
	first := was()
	first.Status.Rollout = nil
	require.False(t, countsAlone(first, was().Status, now), "the first status")
}
