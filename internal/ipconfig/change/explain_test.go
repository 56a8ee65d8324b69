package change_test

import (
	"context"
	"errors"
	"net/netip"
	"path"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// TestNoTitleOfAStepLooksLikeASecret: what is narrated and logged of a step goes through the redactor.
func TestNoTitleOfAStepLooksLikeASecret(t *testing.T) {
	for _, plan := range plansOf(t) {
		for _, s := range plan.Steps {
			for _, kind := range []flow.Kind{flow.KindIntent, flow.KindDone, flow.KindSkipped, flow.KindUndone} {
				line := operation.Narrate(flow.Entry{Kind: kind, Title: s.Title, Index: 1, Total: 2, TookMS: 1234})
				require.Equal(t, line, operation.RedactText(line))
			}
		}
	}
}

// TestAStopFromOutsideIsSaidPlainly: systemctl stop while a step runs.
func TestAStopFromOutsideIsSaidPlainly(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.node.Run(t.Context(), func(ctx context.Context) error { return w.request(ctx, newSite, oldSite) }))
	err := w.on(func(o *change.Operation, ctx context.Context) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		o.Wrap = func(p flow.Plan) flow.Plan {
			for i, s := range p.Steps {
				if s.Name == ipconfig.StepCopyLive {
					p.Steps[i] = s.Before(func(context.Context) error { stop(); return nil })
				}
			}
			return p
		}
		return o.PrePivot(ctx)
	})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "stopped from outside, by systemctl stop or a shutdown")
	require.NotContains(t, err.Error(), "context canceled")
	require.Contains(t, w.progress().PrePivot.Failure, "stopped from outside")
}

// TestADuplicateAddressAfterTheRebootIsNamed: a machine came to the new site's address after the checks.
func TestADuplicateAddressAfterTheRebootIsNamed(t *testing.T) {
	w := newWorld(t)
	w.arrival = func(w *world) {
		w.node.Occupy(netip.MustParseAddr(newSite.address))
	}
	require.NoError(t, w.Live(nil))
	w.requireVerdict("old")
	require.Contains(t, w.progress().Cause, newSite.address+" is in use by the machine with hardware address 02:00:00:00:00:66")
}

// TestTheNewestOperationKeepsItsRecords, though a wrong clock gave it the oldest name.
func TestTheNewestOperationKeepsItsRecords(t *testing.T) {
	w := newWorld(t)
	files := w.node.Files()
	for n := range uint16(12) {
		require.NoError(t, files.Write(operation.JournalPath(operation.NewID(w.clock.now, n)), []byte("\n"), 0o600))
	}
	w.clock.now = w.clock.now.AddDate(-30, 0, 0)
	w.recert = brokenRecert{}
	require.NoError(t, w.Live(nil))
	r, err := ipconfig.ReadRequest(files)
	require.NoError(t, err)
	require.NoError(t, w.on(func(o *change.Operation, ctx context.Context) error { return o.CleanUp(ctx) }))
	p, err := ipconfig.ReadProgress(files, r.OperationID)
	require.NoError(t, err)
	require.True(t, p.PrePivot.Begun, "what happened before the cleanup is still on record")
}

// TestARollbackByTheWatchdogSaysWhatWasMissing: the step, what it waited for last, in the cause and in the evidence of both
// stateroots.
func TestARollbackByTheWatchdogSaysWhatWasMissing(t *testing.T) {
	for _, c := range []struct {
		name  string
		edit  func(*world)
		cause string
	}{
		{"the API", func(w *world) {
			w.noAPI = func() error { return errors.New("dial tcp 198.51.100.20:6443: connection refused") }
		}, "; step 5 of 11 (wait-for-api) was not done and waited for: dial tcp 198.51.100.20:6443: connection refused"},
		{"a probe", func(w *world) { w.node.Serve(registry, errors.New("connection reset")) },
			`; step 8 of 11 (run-probes) was not done and waited for: probe "registry": tcp registry.example.com:5000: connection reset`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.watched, w.probes[0].TimeoutSeconds = true, 3600
			w.annotations = map[string]string{lcav1.AutoRollbackOnFailureIPConfigRunAnnotation: "Disabled"}
			w.arrival = c.edit
			cutWhileWaiting(w)
			require.NoError(t, w.Live(nil))
			w.requireVerdict("old")
			require.Equal(t, watchdogFired+c.cause, w.progress().Cause)
			r, err := ipconfig.ReadRequest(w.node.Files())
			require.NoError(t, err)
			for _, root := range []string{r.OldStateroot, r.NewStateroot} {
				data, err := w.node.Files().Read(host.InVar(root, path.Join(operation.EvidencePath(r.OperationID), "waiting.json")))
				require.NoError(t, err, root)
				require.Contains(t, string(data), `"missing":`, root)
			}
			here, found, err := ipconfig.ReadWaiting(w.node.Files(), r.OperationID)
			require.NoError(t, err)
			require.True(t, found, "the old system knows it though no program of the new one had come to a rollback")
			require.NotEmpty(t, here.Missing)
		})
	}
}

// cutWhileWaiting cuts the power whenever a run of post-pivot has waited for ten minutes.
func cutWhileWaiting(w *world) {
	var began time.Time
	w.wrap = func(p flow.Plan) flow.Plan {
		if p.Name == ipconfig.FlowPostPivot {
			began = w.clock.now
		}
		return p
	}
	w.clock.slept = func(now time.Time) {
		if began.IsZero() || now.Sub(began) < 10*time.Minute {
			return
		}
		began = time.Time{}
		if w.monitor != nil {
			w.monitor.Count() // it runs beside post-pivot
		}
		w.node.Cut()
		panic(hosttest.PowerCut)
	}
}
