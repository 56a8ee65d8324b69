package flow_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
)

func TestWhatTheErrorOfARunMeans(t *testing.T) {
	ill := errors.New("x")
	for name, c := range map[string]struct {
		err          error
		want         flow.Ending
		ended, final bool
	}{
		"no error":                 {nil, flow.EndingFinished, true, true},
		"the node reboots":         {fmt.Errorf("reboot: %w", flow.ErrLeaving), flow.EndingLeaving, false, true},
		"rolled back":              {&flow.FailedError{Cause: ill, RolledBack: true}, flow.EndingRolledBack, true, true},
		"rolled back after five":   {&flow.FailedError{Cause: flow.ErrGivenUp, RolledBack: true}, flow.EndingRolledBack, true, true},
		"and wrapped":              {fmt.Errorf("y: %w", &flow.FailedError{Cause: ill, RolledBack: true}), flow.EndingRolledBack, true, true},
		"rollback failed":          {&flow.FailedError{Cause: ill}, flow.EndingInterrupted, false, false},
		"rollback failed, again":   {&flow.FailedError{Cause: fmt.Errorf("%w after 5 runs", flow.ErrGivenUp)}, flow.EndingInterrupted, false, false},
		"committed, goes on":       {&flow.FailedError{Cause: ill, Committed: true}, flow.EndingInterrupted, false, false},
		"committed, given up":      {&flow.FailedError{Cause: flow.ErrGivenUp, Committed: true}, flow.EndingGivenUp, true, true},
		"committed, not readable":  {&flow.FailedError{Cause: errors.Join(flow.ErrGivenUp, flow.ErrUnreadable), Committed: true}, flow.EndingUnreadable, false, true},
		"given up by someone else": {flow.ErrGivenUp, flow.EndingInterrupted, false, false},
		"stopped":                  {context.Canceled, flow.EndingInterrupted, false, false},
	} {
		got := flow.EndingOf(c.err)
		require.Equal(t, c.want, got, name)
		require.Equal(t, c.ended, got.Ended(), name)
		require.Equal(t, c.final, got.Final(), name)
	}
}
