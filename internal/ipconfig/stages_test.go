package ipconfig_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

func rows() map[ipconfig.State]ipconfig.Stage {
	out := map[ipconfig.State]ipconfig.Stage{}
	for _, r := range ipconfig.Stages() {
		out[r.State] = r
	}
	return out
}

func TestEveryStateHasAWayOutThatReachesIdle(t *testing.T) {
	table := rows()
	for state := range table {
		require.True(t, reaches(table, state, ipconfig.StateIdle, nil), "%s never gets to Idle", state)
	}
}

func reaches(table map[ipconfig.State]ipconfig.Stage, from, to ipconfig.State, seen []ipconfig.State) bool {
	if from == to {
		return true
	}
	return slices.ContainsFunc(table[from].Leads, func(next ipconfig.State) bool {
		return !slices.Contains(seen, next) && reaches(table, next, to, append(seen, from))
	})
}

func TestAStateThatAllowsNothingEndsByItself(t *testing.T) {
	for _, row := range ipconfig.Stages() {
		require.True(t, len(row.Next) > 0 || row.Ends, "%s is a dead end", row.State)
		require.NotEmpty(t, row.Leads, "%s leads nowhere", row.State)
		for _, next := range row.Leads {
			require.Contains(t, rows(), next, "%s leads to a state without a row", row.State)
		}
	}
}

func TestEveryRequestIsHonouredByTheTable(t *testing.T) {
	honours := map[lcav1.IPConfigStage]ipconfig.State{
		lcav1.StageIdle: ipconfig.StateBecomingIdle, lcav1.StageConfig: ipconfig.StatePreparing, lcav1.StageRollback: ipconfig.StateRollingBack,
	}
	for _, row := range ipconfig.Stages() {
		for _, stage := range row.Next {
			require.True(t, ipconfig.Allowed(row.State, stage))
			if row.State != ipconfig.StateBecomingIdle {
				require.Contains(t, row.Leads, honours[stage], "%s allows %s", row.State, stage)
			}
		}
	}
	require.Equal(t, []lcav1.IPConfigStage{lcav1.StageIdle}, ipconfig.ValidNext("never heard of"))
}
