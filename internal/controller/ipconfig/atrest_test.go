package ipconfig

import (
	"net/netip"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// kept is a node whose change was completed and cleaned up.
func kept(t *testing.T) *world {
	t.Helper()
	w, request := configuring(t)
	w.pivot(request)
	through(w)
	w.rest()
	w.stage(lcav1.StageIdle)
	w.cleanedUp()
	requireLast(t, w.rest(), "Idle", yes, "Idle", "Idle")
	return w
}

// TestANodeAtRestStaysIdleWhateverIsLost: the spec of a node at rest is its user's, also when its records are lost and there is
// another stateroot, a copy for example.
func TestANodeAtRestStaysIdleWhateverIsLost(t *testing.T) {
	forgotten := func(w *world) {
		for _, file := range []string{operation.StaterootFile, operation.StaterootCopy} {
			require.NoError(t, w.node.Remove(file))
		}
	}
	for name, happens := range map[string]func(*world){
		"the journals":       func(w *world) { require.NoError(t, w.node.Remove(operation.JournalDir)) },
		"everything in /var": func(w *world) { require.NoError(t, w.node.Remove(host.StateDir)) },
		"what /etc has":      func(w *world) { require.NoError(t, w.node.Remove(path.Dir(operation.StaterootCopy))) },
		"everything":         func(w *world) { forgotten(w); require.NoError(t, w.node.Remove(host.StateDir)) },
	} {
		t.Run(name, func(t *testing.T) {
			w := kept(t)
			happens(w)
			w.node.deployments = append(w.node.deployments, host.Deployment{Stateroot: "before-upgrade", Checksum: "c0", Index: 1})
			before := w.get().Spec
			ipc := w.rest()
			require.Equal(t, before, ipc.Spec)
			requireLast(t, ipc, "Idle", yes, "Idle", "Idle")
			require.Equal(t, stages{"Config"}, ipc.Status.ValidNextStages)
			w.node.acts = nil
			w.restart(shared.Server(t))
			ipc = w.rest()
			require.Equal(t, before, ipc.Spec)
			require.Empty(t, w.node.acts)
		})
	}
}

// TestAProvedChangeIsCompleteWhateverIsLost: the record of the stateroot says that it was proved. Idle keeps it.
func TestAProvedChangeIsCompleteWhateverIsLost(t *testing.T) {
	w, request := configuring(t)
	w.pivot(request)
	through(w)
	requireLast(t, w.rest(), "ConfigCompleted", yes, "Completed", "")
	require.NoError(t, w.node.Remove(host.StateDir))
	require.NoError(t, w.api.Delete(t.Context(), w.get()))
	ipc := w.rest()
	requireLast(t, ipc, "ConfigCompleted", yes, "Completed", msgConfigured)
	require.Equal(t, lcav1.StageConfig, ipc.Spec.Stage)
	require.Equal(t, stages{"Idle", "Rollback"}, ipc.Status.ValidNextStages)
	_, err := w.node.Read(operation.StaterootFile)
	require.NoError(t, err, "the record is complete again")
	w.stage(lcav1.StageIdle)
	require.Zero(t, w.node.launched(ipconfig.UnitRollback))
	require.Equal(t, 1, w.node.launched(ipconfig.UnitCleanup))
}

// TestTheWayBackIsOfferedOnlyWhereItIs: an update of the old stateroot that never ran is none.
func TestTheWayBackIsOfferedOnlyWhereItIs(t *testing.T) {
	w, request := configuring(t)
	w.pivot(request)
	through(w)
	require.Equal(t, stages{"Idle", "Rollback"}, w.rest().Status.ValidNextStages)
	for i := range w.node.deployments {
		if w.node.deployments[i].Stateroot == request.OldStateroot {
			w.node.deployments[i].Checksum = "c1"
		}
	}
	require.Equal(t, stages{"Idle"}, w.rest().Status.ValidNextStages)
}

// TestARefusedChangeInACopyLeavesItsOriginalAlone: the original is a stateroot that a change made, and none of this one's.
func TestARefusedChangeInACopyLeavesItsOriginalAlone(t *testing.T) {
	w := newWorld(t)
	w.node.deployments = []host.Deployment{{Stateroot: "before-upgrade", Checksum: "c0", Booted: true, Default: true},
		{Stateroot: ipconfig.StaterootName("20250101-000000-abcd"), Checksum: "c0", Index: 1}}
	w.node.files[host.InVar("before-upgrade", "/var")] = nil
	requireLast(t, w.rest(), "Idle", yes, "Idle", "Idle")
	w.node.claims[netip.MustParseAddr("198.51.100.10")] = host.Claim{Hardware: "02:00:00:00:00:01"}
	requireLast(t, w.change(toNewAddress), "ConfigInProgress", no, "Failed", "config validation failed")
	w.node.acts = nil
	requireLast(t, w.stage(lcav1.StageIdle), "Idle", yes, "Idle", "Idle")
	require.Zero(t, w.node.launched(ipconfig.UnitCleanup), "there is nothing to remove")
}
