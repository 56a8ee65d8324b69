//go:build lab

package scenario

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/drive"
	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
)

// TestTheWatchdogGoesBackWhenNobodyProvesTheChange takes the operator away in the new
// stateroot, so that no agent ever says that the cluster is healthy, where a rollback for that was asked for.
func TestTheWatchdogGoesBackWhenNobodyProvesTheChange(t *testing.T) {
	tool(t, "systemd-nspawn")
	watchdogGoesBack(t, "scenario-watchdog", func(context.Context, *lab.Lab) {})
}

// TestAStoppedWatchdogGoesBackAllTheSame stops the watchdog's process, as a debugger or a full memory might.
func TestAStoppedWatchdogGoesBackAllTheSame(t *testing.T) {
	tool(t, "systemd-nspawn")
	long(t)
	watchdogGoesBack(t, "scenario-stopped-watchdog", func(ctx context.Context, l *lab.Lab) {
		in(ctx, t, l, "systemctl", "kill", "--signal=STOP", "lca-init-monitor.service")
	})
}

func watchdogGoesBack(t *testing.T, name string, meanwhile func(context.Context, *lab.Lab)) {
	ctx, l, d := node(t, name)
	in(ctx, t, l, "sh", "-c", "sed -i '/^\\[Unit\\]/a ConditionPathExists=!/var/lib/lca/workspace/seal.json' /etc/systemd/system/lifecycle-agent.service")

	request := withAnnotations(move(), object{lcav1.AutoRollbackOnFailureHealthAnnotation: lcav1.AutoRollbackEnableValue})
	request["spec"].(object)["autoRollbackOnFailure"] = object{"initMonitorTimeoutSeconds": 45}
	require.NoError(t, d.Patch(ctx, request))
	until(ctx, t, "the node at its new address", func() bool { return drive.Look(ctx, l, away).API })
	meanwhile(ctx, l)

	ipc, err := d.Until(ctx, "a failed change in the old stateroot", failed)
	require.NoError(t, err)
	require.Contains(t, drive.Summary(ipc), "Rollback due to LCA Init Monitor timeout, after 45s")
	require.True(t, drive.Look(ctx, l, home).API)
}

// TestADamagedProgramGoesBackWithoutIt damages lca-cli in the new stateroot before anything uses it there: systemd alone brings
// the node back.
func TestADamagedProgramGoesBackWithoutIt(t *testing.T) {
	tool(t, "systemd-nspawn")
	ctx, l, d := node(t, "scenario-damaged")
	dropIn(ctx, t, l, "lca-check-cli.service", `[Service]\nExecStartPre=truncate --size=1M /var/usrlocal/bin/lca-cli\n`)
	require.NoError(t, d.Patch(ctx, move()))
	ipc, err := d.Until(ctx, "a failed change in the old stateroot", failed)
	require.NoError(t, err)
	require.Contains(t, drive.Summary(ipc), "Rollback by lca-last-resort.service: lca-cli is damaged or did not run in stateroot rhcos_ipc-")
	require.Contains(t, in(ctx, t, l, "cat", "/var/lib/lca/last-resort.log"), "lca-check-cli.service")
	require.True(t, drive.Look(ctx, l, home).API, "the old address works")
	require.NoError(t, d.Stage(ctx, lcav1.StageIdle))
	_, err = d.Eventually(ctx, "Idle again", drive.Is(lcav1.ConditionIdle))
	require.NoError(t, err)
	require.Equal(t, "rhcos", in(ctx, t, l, "ls", "/ostree/deploy"))
}

// TestPowerCuts cuts the power before the flip and after it: the node comes back as the old
// one and as the new one, and finishes by itself.
func TestPowerCuts(t *testing.T) {
	tool(t, "systemd-nspawn")
	t.Run("before the flip", func(t *testing.T) {
		ctx, l, d := sharedNode(t)
		require.NoError(t, d.Patch(ctx, move()))
		untilJournal(ctx, t, l, "the copy under way", `"intent","step":"copy-while-running"`)
		cut(ctx, t, l)
		ipc, err := d.Until(ctx, "a failed change in the old stateroot", failed)
		require.NoError(t, err)
		requireBack(ctx, t, l, d, ipc)
	})
	t.Run("after the flip", func(t *testing.T) {
		ctx, l, d := node(t, "scenario-cut-after")
		require.NoError(t, d.Patch(ctx, move()))
		untilJournal(ctx, t, l, "the new stateroot at work", `"done","step":"check-seal"`)
		cut(ctx, t, l)
		_, err := d.Until(ctx, "a completed change", drive.Is(lcav1.ConditionConfigCompleted))
		require.NoError(t, err)
		require.True(t, drive.Look(ctx, l, away).API)
	})
}

func journalHas(ctx context.Context, l *lab.Lab, text string) bool {
	res, err := l.Machine.Exec(ctx, machine.Command{Argv: []string{"sh", "-c", "grep -qhF '" + text + "' /var/lib/lca/journal/*.jsonl"}})
	return err == nil && res.ExitCode == 0
}

func cut(ctx context.Context, t *testing.T, l *lab.Lab) {
	t.Helper()
	require.NoError(t, l.Machine.PowerCut(ctx))
	require.NoError(t, l.Machine.Start(ctx))
}

// untilJournal waits until the journal says something. It ends at once when the change has failed instead.
func untilJournal(ctx context.Context, t *testing.T, l *lab.Lab, what, text string) {
	t.Helper()
	until(ctx, t, what, func() bool {
		if journalHas(ctx, l, text) {
			return true
		}
		for _, end := range []string{`"kind":"rolled-back"`, `"flow":"rollback","kind":"committed"`} {
			require.False(t, journalHas(ctx, l, end), "waiting for %s: the change was rolled back:\n%s", what, accountOf(ctx, l))
		}
		return false
	})
}

// accountOf is what the node itself says became of the operation.
func accountOf(ctx context.Context, l *lab.Lab) string {
	account, err := machine.Output(ctx, l.Machine, "lca-cli", "ip-config", "status")
	if err != nil {
		return err.Error()
	}
	return account
}

// until polls a condition; the scenario's patience bounds it.
func until(ctx context.Context, t *testing.T, what string, reached func() bool) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !reached() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited for %s in vain", what)
		case <-tick.C:
		}
	}
}
