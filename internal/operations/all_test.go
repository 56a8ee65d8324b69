package operations_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operations"
)

func TestEachKindIsWholeAndItsOwn(t *testing.T) {
	names, files, units := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, k := range operations.All() {
		require.NoError(t, k.Plan.Validate(), k.Name)
		require.Contains(t, k.Flows, k.Plan.Name, k.Name)
		require.False(t, names[k.Name] || files[k.RequestFile] || units[k.Unit], "%s shares its name, request or unit", k.Name)
		names[k.Name], files[k.RequestFile], units[k.Unit] = true, true, true
		if k.Plan.Commit != "" && k.Plan.MaxAttempts > 0 && k.Name != "relocation-reconfigure" {
			require.NotEmpty(t, k.WayOut, "%s can be given up past its commit point", k.Name)
		}
	}
}

// A node on which nothing was ever requested is held by no kind of operation.
func TestAnIdleNodeIsHeldByNothing(t *testing.T) {
	n := hosttest.NewNode(hosttest.Options{Stateroot: "rhcos"}).Ports()
	for _, r := range operations.Reservations(n) {
		_, found, err := r.Unfinished(t.Context())
		require.NoError(t, err, r.Flow)
		require.False(t, found, r.Flow)
	}
}
