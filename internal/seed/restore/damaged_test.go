package restore_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/restore"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
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
		return w.service().Run(ctx)
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

// TestARestoreWithADamagedRequestIsGivenUp, by the unit at the next boot and by a person, whatever it has made.
func TestARestoreWithADamagedRequestIsGivenUp(t *testing.T) {
	for name, end := range map[string]func(*world) error{
		"at the next boot":                    func(w *world) error { w.node.Cut(); return w.node.Settle(t.Context(), maxBoots) },
		"by the unit, which is started again": (*world).run,
		"by a person":                         (*world).abort,
	} {
		for _, step := range []string{seed.StepCheck, seed.StepUnpackEtc, stateroot.StepFlip} {
			t.Run(name+", "+step, func(t *testing.T) {
				w := newWorld(t, true)
				w.stopAt(step)
				require.NoError(t, w.node.Seed(seed.RestoreFile, []byte("{")))
				_, held, err := restore.Kind(w.ports()).Reservation(w.node.Ports()).Unfinished(t.Context())
				require.NoError(t, err)
				require.True(t, held)
				_, err = restore.Begin(t.Context(), w.ports(), w.ask())
				require.ErrorIs(t, err, operation.ErrRefused)
				require.ErrorContains(t, err, "'lca-cli seed abort' ends it")
				require.NoError(t, end(w))
				verdict, err := w.Judge()
				require.NoError(t, err)
				require.Equal(t, "old", verdict)
				require.NoError(t, w.Again())
			})
		}
	}
}

// TestARestoreThatBootsNextIsNotGivenUpByItsUnit: a damaged request does not say that a person wants to stay.
func TestARestoreThatBootsNextIsNotGivenUpByItsUnit(t *testing.T) {
	w := newWorld(t, true)
	w.stopAt(stateroot.StepReboot)
	require.NoError(t, w.node.Seed(seed.RestoreFile, []byte("{")))
	err := w.run()
	require.ErrorIs(t, err, operation.ErrRefused)
	require.ErrorContains(t, err, "reboot the node to run its cluster, or remove it with 'lca-cli seed abort'")
	require.NoError(t, w.abort())
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "old", verdict)
}
