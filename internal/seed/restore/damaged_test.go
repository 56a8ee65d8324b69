package restore_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
)

// TestARestoredNodeWithADamagedRequestGoesBack by itself: it waits for no other configuration.
func TestARestoredNodeWithADamagedRequestGoesBack(t *testing.T) {
	w := newWorld(t, false)
	damaged := false
	w.node.Command("lca-cli relocation reconfigure", func(ctx context.Context, _ []string) error {
		if !damaged {
			damaged = true
			require.NoError(t, w.node.Seed(relocation.RequestFile, []byte("\x00")))
		}
		return w.station().Run(ctx)
	})
	require.NoError(t, w.Live(nil))
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "old", verdict, "what was handed over is not whole")
	last, err := relocation.ReadLast(w.node.Files())
	require.NoError(t, err)
	require.Contains(t, last.Cause, relocation.RequestFile)
	require.NoError(t, w.Again())
}
