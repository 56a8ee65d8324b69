package stateroot_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// effects lists what the step changes on the node, in order.
func effects(t *testing.T, n *hosttest.Node, do func(context.Context) error) (names []string) {
	t.Helper()
	n.ForgetOps()
	require.NoError(t, n.Run(t.Context(), do))
	for _, op := range n.Ops() {
		names = append(names, op.Name)
	}
	return names
}

// What a rollback wrote into the stateroot that boots next must be on the disk before that boots.
func TestFlipBackFlushesBeforeItFlips(t *testing.T) {
	n := hosttest.NewNode(hosttest.Options{Stateroot: "new"})
	_, err := n.Deployments().Clone(t.Context(), "old")
	require.NoError(t, err)
	names := effects(t, n, stateroot.FlipBack(n.Deployments(), n.Trees(), "old", stateroot.FirstOf("old")).Do)
	flush, flip := slices.Index(names, "trees.sync"), slices.Index(names, "deployments.set-default")
	require.GreaterOrEqual(t, flush, 0, "%v", names)
	require.Less(t, flush, flip, "%v", names)
}

// The sealed manifest is useless where the files that it names are not on the disk.
func TestSealFlushesLast(t *testing.T) {
	n := hosttest.NewNode(hosttest.Options{Stateroot: "old"})
	_, err := n.Deployments().Clone(t.Context(), "new")
	require.NoError(t, err)
	program, err := n.Files().Read(host.CLIInVar)
	require.NoError(t, err)
	require.NoError(t, n.Files().Write(host.InVar("new", host.CLIInVar), program, 0o755))
	s := stateroot.Sealing{Operation: "op", MadeBy: "move", Clock: flow.SystemClock{}, Pair: stateroot.Pair{Old: "old", New: "new"},
		Contents: func(func(string) string) ([]string, error) { return nil, nil }}
	names := effects(t, n, stateroot.Seal(s, n.Files(), n.Deployments(), n.Trees()).Do)
	require.Equal(t, "trees.sync", names[len(names)-1], "%v", names)
}

func TestAStoppedFlipBackLeavesTheDefault(t *testing.T) {
	n := hosttest.NewNode(hosttest.Options{Stateroot: "new"})
	_, err := n.Deployments().Clone(t.Context(), "old")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	require.ErrorIs(t, stateroot.FlipBack(n.Deployments(), n.Trees(), "old", stateroot.FirstOf("old")).Do(ctx), context.Canceled)
	require.Equal(t, "new", n.Describe().Default)
}

func TestTheWayBackMustBeDeployedAndNotRun(t *testing.T) {
	n := hosttest.NewNode(hosttest.Options{Stateroot: "new"})
	for to, says := range map[string]string{"gone": "no longer there", "new": "the one that runs"} {
		_, err := stateroot.WayBack(t.Context(), n.Files(), n.Deployments(), to)
		require.ErrorIs(t, err, operation.ErrRefused)
		require.ErrorContains(t, err, says)
	}
}

// TestTheWayBackIsTheDeploymentThatRan: an update of the old stateroot that nobody has booted comes first in the boot order.
func TestTheWayBackIsTheDeploymentThatRan(t *testing.T) {
	n := hosttest.NewNode(hosttest.Options{Stateroot: "new"})
	ran, err := n.Deployments().Clone(t.Context(), "old")
	require.NoError(t, err)
	all, err := n.Deployments().List(t.Context())
	require.NoError(t, err)
	booted, err := host.Booted(all)
	require.NoError(t, err)
	require.NoError(t, operation.WriteStateroot(n.Files(), booted, operation.Stateroot{WayBack: operation.NameOf(ran)}))
	update, err := n.Pending("old", ran.Checksum)
	require.NoError(t, err)
	require.NotEqual(t, ran.ID(), update.ID())

	back, err := stateroot.WayBack(t.Context(), n.Files(), n.Deployments(), "old")
	require.NoError(t, err)
	require.Equal(t, ran.ID(), back.ID())
	step := stateroot.FlipBack(n.Deployments(), n.Trees(), "old", stateroot.Back(n.Files(), "old"))
	for range 2 {
		require.NoError(t, step.Do(t.Context()))
		all, err = n.Deployments().List(t.Context())
		require.NoError(t, err)
		require.Equal(t, ran.ID(), all[0].ID())
	}
}

// TestTheWayBackIsNotAnotherDeployment: where the one that ran is gone there is none, whatever else the stateroot has.
func TestTheWayBackIsNotAnotherDeployment(t *testing.T) {
	n := hosttest.NewNode(hosttest.Options{Stateroot: "new"})
	_, err := n.Deployments().Clone(t.Context(), "old")
	require.NoError(t, err)
	all, err := n.Deployments().List(t.Context())
	require.NoError(t, err)
	booted, err := host.Booted(all)
	require.NoError(t, err)
	gone := &operation.Deployed{Stateroot: "old", Checksum: "aa"}
	require.NoError(t, operation.WriteStateroot(n.Files(), booted, operation.Stateroot{WayBack: gone}))
	_, err = stateroot.WayBack(t.Context(), n.Files(), n.Deployments(), "old")
	require.ErrorIs(t, err, operation.ErrRefused)
	require.ErrorContains(t, err, "that ran before is no longer there")
}
