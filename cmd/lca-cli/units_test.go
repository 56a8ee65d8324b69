package main

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/restore"
)

// Every command line of the units that are written to a node is one of this program: the verb exists, and its flags and
// arguments parse.
func TestUnitsCallVerbsThatExist(t *testing.T) {
	for name, text := range map[string]string{
		relocation.UnitReconfigure: relocation.ReconfigureUnit, relocation.UnitMonitor: relocation.MonitorUnit,
		relocation.UnitPage: relocation.PageUnit, seed.UnitRestoreUndo: restore.UndoUnit,
	} {
		lines := 0
		for line := range strings.Lines(text) {
			command, ok := strings.CutPrefix(strings.TrimSpace(line), "ExecStart="+host.CLI+" ")
			if !ok {
				require.NotContains(t, line, "ExecStart", "%s starts another program", name)
				continue
			}
			lines++
			cmd, rest, err := newRootCommand(slog.New(slog.DiscardHandler)).Find(strings.Fields(command))
			require.NoError(t, err, name)
			require.NotNil(t, cmd.RunE, "%s: %s is a group of verbs", name, command)
			require.NoError(t, cmd.ParseFlags(rest), name)
			require.NoError(t, cmd.ValidateRequiredFlags(), name)
			require.NoError(t, cmd.ValidateArgs(cmd.Flags().Args()), name)
		}
		require.Equal(t, 1, lines, name)
	}
}

// So are those of the units that a relocation starts without a file.
func TestTransientUnitsCallVerbsThatExist(t *testing.T) {
	for _, command := range []string{"relocation prepare --run", "relocation cancel --run", "relocation rollback --run"} {
		cmd, rest, err := newRootCommand(slog.New(slog.DiscardHandler)).Find(strings.Fields(command))
		require.NoError(t, err, command)
		require.NoError(t, cmd.ParseFlags(rest), command)
		require.NoError(t, cmd.ValidateArgs(cmd.Flags().Args()), command)
	}
}
