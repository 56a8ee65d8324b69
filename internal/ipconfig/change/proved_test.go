package change_test

import (
	"context"
	"errors"
	"path"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

const degraded = "clusteroperator monitoring: degraded"

// unhealthy is a world that is through with post-pivot, and whose agent reports what is missing.
func unhealthy(t *testing.T, annotations map[string]string) *world {
	w := newWorld(t)
	w.watched, w.annotations = true, annotations
	require.NoError(t, w.Live(nil))
	w.requireVerdict("new")
	r, err := ipconfig.ReadRequest(w.node.Files())
	require.NoError(t, err)
	h, found, err := ipconfig.ReadHealth(w.node.Files(), r.OperationID)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, ipconfig.NotReported, h.Missing)
	h.Missing = degraded
	require.NoError(t, ipconfig.WriteHealth(w.node.Files(), h))
	return w
}

// hoursLater lets the watchdog look at the clock again.
func (w *world) hoursLater() {
	w.t.Helper()
	w.clock.now = w.clock.now.Add(10 * time.Hour)
	if w.monitor != nil {
		w.monitor.Count()
	}
	err := w.node.Run(w.t.Context(), w.watch)
	if !errors.Is(err, hosttest.Rebooted) {
		require.NoError(w.t, err)
	}
	require.NoError(w.t, w.rest(w.t.Context()))
}

// TestAProvedChangeWaitsForHealthWithoutAWatchdog: neither time, nor a power cut, nor a dead gateway takes a node back that an
// administrator can reach.
func TestAProvedChangeWaitsForHealthWithoutAWatchdog(t *testing.T) {
	w := unhealthy(t, nil)
	w.hoursLater()
	w.requireVerdict("new")
	require.False(t, w.progress().Rollback.Begun)
	w.node.Cut()
	w.node.Silence(newGateway())
	require.NoError(t, w.rest(t.Context()))
	w.hoursLater()
	w.requireVerdict("new")
	require.False(t, w.progress().Rollback.Begun)
	h, _, err := ipconfig.ReadHealth(w.node.Files(), w.progress().Operation)
	require.NoError(t, err)
	require.Equal(t, degraded, h.Missing, "it comes back to waiting")

	require.NoError(t, w.launch(t.Context(), ipconfig.UnitRollback, "ip-config", "rollback"))
	require.NoError(t, w.rest(t.Context()))
	w.requireVerdict("old")
	w.requireMissingInEvidence()
}

// TestHealthRollsBackWhereItIsAskedFor: the watchdog stays until the agent has seen the cluster healthy.
func TestHealthRollsBackWhereItIsAskedFor(t *testing.T) {
	w := unhealthy(t, map[string]string{lcav1.AutoRollbackOnFailureHealthAnnotation: "Enabled"})
	w.hoursLater()
	w.requireVerdict("old")
	require.Equal(t, watchdogFired+"; the cluster can be reached, but is not healthy: "+degraded, w.progress().Cause)
	require.True(t, w.progress().Automatic())
	w.requireMissingInEvidence()
}

func TestHealthThatIsAskedForInOtherWordsDoesNotRollBack(t *testing.T) {
	for _, annotations := range []map[string]string{
		{lcav1.AutoRollbackOnFailureHealthAnnotation: "enabled"},
		{lcav1.AutoRollbackOnFailureHealthAnnotation: "Disabled"},
		{lcav1.AutoRollbackOnFailureHealthAnnotation: "Enabled", lcav1.AutoRollbackOnFailureInitMonitorAnnotation: "Disabled"},
	} {
		w := unhealthy(t, annotations)
		w.hoursLater()
		w.requireVerdict("new")
	}
}

// requireMissingInEvidence looks into both stateroots.
func (w *world) requireMissingInEvidence() {
	w.t.Helper()
	r, err := ipconfig.ReadRequest(w.node.Files())
	require.NoError(w.t, err)
	for _, root := range []string{r.OldStateroot, r.NewStateroot} {
		data, err := w.node.Files().Read(host.InVar(root, path.Join(operation.EvidencePath(r.OperationID), "health.json")))
		require.NoError(w.t, err, root)
		require.Contains(w.t, string(data), degraded, root)
	}
}

// TestADeathAfterTheProofDoesNotCostTheChange dies at each change to the node that the steps after the proof make, ten times in
// a row with a gateway that no longer answers, and with a watchdog that is long past its limit.
func TestADeathAfterTheProofDoesNotCostTheChange(t *testing.T) {
	for name, arm := range map[string]func(*hosttest.Node, int){"power-cut": (*hosttest.Node).CrashAt, "killed": (*hosttest.Node).KillAt} {
		t.Run(name, func(t *testing.T) {
			moments := 0
			for moment := 1; ; moment++ {
				if !diesAfterTheProof(t, arm, moment) {
					break
				}
				moments++
			}
			require.Greater(t, moments, 3)
		})
	}
}

func diesAfterTheProof(t *testing.T, arm func(*hosttest.Node, int), moment int) bool {
	w := newWorld(t)
	w.watched = true
	struck := false
	w.wrap = func(p flow.Plan) flow.Plan {
		for i, s := range p.Steps {
			if s.Name != ipconfig.StepDisarm || struck {
				continue
			}
			do := s.Do
			p.Steps[i].Do = func(ctx context.Context) error {
				struck = true
				arm(w.node, moment)
				w.clock.now = w.clock.now.Add(10 * time.Hour)
				w.node.Silence(newGateway())
				return do(ctx)
			}
		}
		return p
	}
	_ = w.Live(nil) // post-pivot may fail for as long as the gateway is silent
	w.wrap = nil
	require.True(t, struck)
	died := w.node.Struck() > 0
	for range 10 {
		_ = w.rest(t.Context())
	}
	d := w.node.Describe()
	require.NotEqual(t, oldStateroot, d.Booted, "moment %d: %v", moment, w.node.Failures())
	w.node.Answer(newGateway())
	w.node.Cut()
	require.NoError(t, w.rest(t.Context()), "moment %d", moment)
	w.requireVerdict("new")
	return died
}
