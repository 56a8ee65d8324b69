package change_test

import (
	"context"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
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
