package journald_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/journald"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/run"
)

// recorded is a journalctl that answers with what it was asked.
type recorded struct{ err error }

func (r recorded) Run(_ context.Context, c run.Command) (run.Result, error) {
	line := strings.Join(c.Argv, " ")
	if !c.SecretOutput {
		line += " (and the journal of the operation would quote it)"
	}
	return run.Result{Stdout: []byte(line)}, r.err
}

func TestQuestions(t *testing.T) {
	var logs host.Logs = journald.New(recorded{})
	unit, err := logs.Unit(t.Context(), host.UnitKubelet, 400)
	require.NoError(t, err)
	require.Equal(t, "journalctl --unit=kubelet.service --no-pager --quiet --output=short-iso --lines=400", string(unit))
	system, err := logs.System(t.Context(), 1000)
	require.NoError(t, err)
	require.Equal(t, "journalctl --priority=warning --no-pager --quiet --output=short-iso --lines=1000", string(system))
}

func TestFailuresNameWhatWasAsked(t *testing.T) {
	logs := journald.New(recorded{errors.New("exit status 1")})
	_, err := logs.Unit(t.Context(), host.UnitKubelet, 1)
	require.EqualError(t, err, "read the log of kubelet.service: exit status 1")
	_, err = logs.System(t.Context(), 1)
	require.EqualError(t, err, "read the system journal: exit status 1")
}

func TestTheJournalOfAnotherStateroot(t *testing.T) {
	stored, err := journald.New(recorded{}).Stored(t.Context(), "/ostree/deploy/rhcos/var/log/journal", 10)
	require.NoError(t, err)
	require.Equal(t, "journalctl --directory=/ostree/deploy/rhcos/var/log/journal --no-pager --quiet --output=short-iso --lines=10", string(stored))
	_, err = journald.New(recorded{err: errors.New("no such folder")}).Stored(t.Context(), "/nowhere", 10)
	require.ErrorContains(t, err, "read the journal in /nowhere")
}
