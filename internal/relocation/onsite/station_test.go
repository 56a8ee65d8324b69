package onsite

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
)

// A reconfiguration that was given up must not make a rollback final that failed for the moment: systemd starts the unit again.
func TestARollbackThatFailedForTheMomentIsTriedAgain(t *testing.T) {
	w := verb.Wiring{Log: slog.New(slog.DiscardHandler)}
	final := new(*verb.FinalError)
	reason := &flow.FailedError{Flow: "relocation-reconfigure", Step: "health", Committed: true, Cause: fmt.Errorf("ill: %w", flow.ErrGivenUp)}
	require.ErrorAs(t, w.Verdict("relocation reconfigure", reason), final, "alone it is final")
	for _, rollback := range []error{errors.New("list deployments: ostree is busy"), &flow.FailedError{Flow: "relocation-rollback", Step: "flip"}} {
		if f := (*flow.FailedError)(nil); errors.As(rollback, &f) {
			f.Cause = errors.New("ostree is busy")
		}
		err := backFailed(rollback, reason)
		require.ErrorIs(t, err, rollback)
		require.ErrorContains(t, err, "the reason for the rollback: relocation-reconfigure failed at step health: ill")
		verdict := w.Verdict("relocation reconfigure", err)
		require.Error(t, verdict)
		require.NotErrorAs(t, verdict, final)
	}
	require.NoError(t, w.Verdict("relocation reconfigure", backFailed(flow.ErrLeaving, reason)), "the node reboots")
}
