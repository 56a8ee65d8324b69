package plan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
)

// Switches of a bond may be given as words; NetworkManager takes their numbers alone.
func TestPlanWritesSwitchesOfABondAsNumbers(t *testing.T) {
	p := planned(t, node(nil), `interfaces:
- name: bond9
  type: bond
  state: up
  link-aggregation:
    mode: balance-tlb
    options: {tlb_dynamic_lb: true, all_slaves_active: delivered, use_carrier: "false", primary_reselect: "1"}
`)
	require.Len(t, p.Changes, 1)
	options := profile.Value[map[string]string](p.Changes[0].After, profile.TypeBond, "options")
	require.Equal(t, "1", options["tlb_dynamic_lb"])
	require.Equal(t, "1", options["all_slaves_active"])
	require.Equal(t, "0", options["use_carrier"])
	require.Equal(t, "better", options["primary_reselect"])
}
