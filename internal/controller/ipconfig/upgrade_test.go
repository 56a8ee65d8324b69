package ipconfig

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

const (
	oldProgram = "lca-cli of the version before"
	newProgram = "lca-cli of the version after"
)

// upgrade replaces the agent by another version with an lca-cli of its own, as a rollout of the DaemonSet does.
func (w *world) upgrade() {
	w.t.Helper()
	w.restart(shared.Server(w.t))
	w.r.InstallCLI = func() error { return w.node.Write(host.CLIInVar, []byte(newProgram), 0o755) }
}

// TestAnUpgradeOfTheAgentInEveryPhase replaces the agent by another version in every phase of a change. The new version
// continues with what the node records; the program of a change that is under way stays the one that began it.
func TestAnUpgradeOfTheAgentInEveryPhase(t *testing.T) {
	for _, p := range phases() {
		t.Run(p.name, func(t *testing.T) {
			w := p.reach(t)
			require.NoError(t, w.node.Write(host.CLIInVar, []byte(oldProgram), 0o755))
			before, launches := w.rest(), w.launches()
			w.upgrade()
			after := w.recovered()
			require.Equal(t, before.Status.Conditions, after.Status.Conditions)
			require.Equal(t, before.Status.ValidNextStages, after.Status.ValidNextStages)
			require.Equal(t, before.Status.OperationID, after.Status.OperationID)
			require.Equal(t, before.Status.History, after.Status.History)
			require.Equal(t, before.Spec, after.Spec)
			require.Equal(t, launches, w.launches(), "nothing is begun anew")
			program, err := w.node.Read(host.CLIInVar)
			require.NoError(t, err)
			require.Equal(t, oldProgram, string(program), "a program is replaced only where a request is handed over")
		})
	}
}

// TestTheNextChangeRunsTheNewVersion hands over after an upgrade.
func TestTheNextChangeRunsTheNewVersion(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.node.Write(host.CLIInVar, []byte(oldProgram), 0o755))
	w.upgrade()
	w.rest()
	w.change(toNewAddress)
	program, err := w.node.Read(host.CLIInVar)
	require.NoError(t, err)
	require.Equal(t, newProgram, string(program))
}
