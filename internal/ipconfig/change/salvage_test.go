package change_test

import (
	"bytes"
	"context"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/snapshot"
)

// TestANodeThatWasChangedBeforeFindsItsWayBack loses request and journal in the second change of a node, whose old stateroot
// this product has made as well.
func TestANodeThatWasChangedBeforeFindsItsWayBack(t *testing.T) {
	lost := func(w *world) {
		require.NoError(w.t, w.node.Files().Remove(arrived(w)))
		require.NoError(w.t, w.node.Files().Remove(ipconfig.RequestFile))
	}
	for _, c := range []struct {
		name    string
		happens func(*world)
	}{
		{"by the name in the units, with another stateroot beside it", func(w *world) {
			_, err := w.node.Deployments().Clone(context.Background(), "a-copy")
			require.NoError(w.t, err)
			lost(w)
			forgotten(w)
		}},
		{"by the record of the stateroot", func(w *world) {
			for _, unit := range []string{ipconfig.UnitIPConfiguration, ipconfig.UnitInitMonitor} {
				file := path.Join(host.UnitDir, unit)
				text, err := w.node.Files().Read(file)
				require.NoError(w.t, err)
				require.NoError(w.t, w.node.Files().Write(file, withoutKey(text, ipconfig.UnitKeyOldStateroot), 0o600))
			}
			lost(w)
		}},
		{"by the copy of the record, all else is lost", func(w *world) {
			lost(w)
			require.NoError(w.t, w.node.Files().Remove(host.StateDir))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			require.NoError(t, w.Live(nil))
			first := w.node.Describe().Booted
			require.NotEqual(t, oldStateroot, first)
			ctx := context.Background()
			require.NoError(t, w.node.Run(ctx, func(ctx context.Context) error {
				return w.launch(ctx, ipconfig.UnitCleanup, "ip-config", "cleanup")
			}))
			require.NoError(t, w.rest(ctx))

			w.arrival = c.happens
			require.NoError(t, w.node.Run(ctx, func(ctx context.Context) error { return w.ask(ctx, farSite, newSite) }))
			require.NoError(t, w.rest(ctx))
			require.Equal(t, first, w.node.Describe().Booted, "%v", w.node.Failures())
			require.NoError(t, w.node.ClusterUp())
			require.Equal(t, []string{newSite.address}, w.node.Describe().Stateroots[first].Keystore)
		})
	}
}

// withoutKey removes the lines of a unit file that set a key.
func withoutKey(text []byte, key string) []byte {
	var kept [][]byte
	for _, line := range bytes.SplitAfter(text, []byte("\n")) {
		if !bytes.HasPrefix(line, []byte(key+"=")) {
			kept = append(kept, line)
		}
	}
	return bytes.Join(kept, nil)
}

// forgotten removes the record of the stateroot that runs, which earlier versions did not write.
func forgotten(w *world) {
	for _, file := range []string{operation.StaterootFile, operation.StaterootCopy} {
		require.NoError(w.t, w.node.Files().Remove(file))
	}
}

// TestANodeAtRestIsAtRestWhateverIsLost: the change was kept and cleaned up, and there is another stateroot, a copy for example.
func TestANodeAtRestIsAtRestWhateverIsLost(t *testing.T) {
	for name, happens := range map[string]func(*world){
		"nothing":              func(*world) {},
		"the journal":          func(w *world) { require.NoError(t, w.node.Files().Remove(operation.JournalDir)) },
		"everything in /var":   func(w *world) { require.NoError(t, w.node.Files().Remove(host.StateDir)) },
		"what /etc has":        func(w *world) { require.NoError(t, w.node.Files().Remove(path.Dir(operation.StaterootCopy))) },
		"an earlier version":   forgotten,
		"that and its journal": func(w *world) { forgotten(w); require.NoError(t, w.node.Files().Remove(host.StateDir)) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).stands()
			require.NoError(t, w.Live(nil))
			w.confirm()
			require.NoError(t, w.launch(t.Context(), ipconfig.UnitCleanup, "ip-config", "cleanup"))
			require.NoError(t, w.rest(t.Context()))
			_, err := w.node.Deployments().Clone(t.Context(), "a-copy")
			require.NoError(t, err)
			happens(w)
			all, err := w.node.Deployments().List(t.Context())
			require.NoError(t, err)
			_, _, err = ipconfig.FindRequest(w.node.Files(), all)
			require.ErrorIs(t, err, ipconfig.ErrNoRequest)
			require.Empty(t, w.blockedBy(t.Context()))
			require.NoError(t, w.node.Run(t.Context(), func(ctx context.Context) error { return change.CleanUpBare(ctx, w.ports()) }))
			require.Contains(t, w.node.Describe().Stateroots, "a-copy")
		})
	}
}

// TestACopyLeavesItsOriginalAlone: Idle after a refused request cleans up in the copy, where no operation was begun.
func TestACopyLeavesItsOriginalAlone(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.Live(nil))
	w.confirm()
	original := w.node.Describe().Booted
	require.NoError(t, w.launch(t.Context(), ipconfig.UnitCleanup, "ip-config", "cleanup"))
	require.NoError(t, w.rest(t.Context()))
	ports := snapshot.Ports{Node: w.node.Ports(), Clock: w.clock, Log: w.log}
	require.NoError(t, w.node.Run(t.Context(), func(ctx context.Context) error {
		if _, err := snapshot.Prepare(ctx, ports, "20260301-000000-0001", "before-upgrade"); err != nil {
			return err
		}
		return snapshot.Run(ctx, ports, operation.Instruments{})
	}))
	err := w.node.Run(t.Context(), func(ctx context.Context) error {
		require.NoError(t, w.node.Deployments().SetDefault(ctx, "before-upgrade"))
		return w.node.Power().Reboot(ctx, "by hand")
	})
	require.ErrorIs(t, err, hosttest.Rebooted)
	require.NoError(t, w.rest(t.Context()))
	require.Equal(t, "before-upgrade", w.node.Describe().Booted)
	require.NoError(t, w.node.Run(t.Context(), func(ctx context.Context) error { return change.CleanUpBare(ctx, w.ports()) }))
	require.True(t, w.node.Describe().Stateroots[original].Deployed)
}
