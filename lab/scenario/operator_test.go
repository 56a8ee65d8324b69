//go:build lab

package scenario

import (
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/lab/drive"
)

// TestTheOperatorIsKilledInEveryPhase kills the operator each time it has said something new of a change, of the rollback
// after it, and of the cleanup: everything ends all the same, and where it was asked to.
func TestTheOperatorIsKilledInEveryPhase(t *testing.T) {
	tool(t, "systemd-nspawn")
	long(t)
	ctx, l, d := sharedNode(t)
	kills := 0
	d.Say = func(said string) {
		t.Log(said)
		if says(ctx, l, "systemctl kill --signal=KILL lifecycle-agent.service") {
			kills++
		}
	}
	for _, phase := range []struct {
		name    string
		ask     object
		reached func(*lcav1.IPConfig) bool
	}{
		{"a completed change", move(), drive.Is(lcav1.ConditionConfigCompleted)},
		{"a completed rollback", object{"spec": object{"stage": lcav1.StageRollback}}, drive.Is(lcav1.ConditionRollbackCompleted)},
		{"Idle again", object{"spec": object{"stage": lcav1.StageIdle}}, drive.Is(lcav1.ConditionIdle)},
	} {
		before := kills
		require.NoError(t, d.Patch(ctx, phase.ask))
		_, err := d.Until(ctx, phase.name, phase.reached)
		require.NoError(t, err)
		require.Greater(t, kills, before, "killed on the way to %s", phase.name)
	}
	require.True(t, drive.Look(ctx, l, home).API)
	require.Equal(t, "rhcos", in(ctx, t, l, "ls", "/ostree/deploy"), "nothing is left of the change")
	t.Logf("the operator was killed %d times", kills)
}
