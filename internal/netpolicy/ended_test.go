package netpolicy_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/record"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// dying changes one step of the plan.
func dying(step string, change func(do func(context.Context) error) func(context.Context) error) func(flow.Plan) flow.Plan {
	return func(p flow.Plan) flow.Plan {
		steps := append([]flow.Step(nil), p.Steps...)
		for i := range steps {
			if steps[i].Name == step {
				steps[i].Do = change(steps[i].Do)
			}
		}
		p.Steps = steps
		return p
	}
}

// killed runs the enactment, which its process does not survive.
func (w *world) killed(t *testing.T, wrap func(flow.Plan) flow.Plan) {
	t.Helper()
	require.Panics(t, func() { _ = netpolicy.RunWrapped(t.Context(), w.ports(), operation.Instruments{}, wrap) })
}

func (w *world) prepare(t *testing.T) netpolicy.Request {
	t.Helper()
	r := w.ask
	r.OperationID = "20260101-000000-0001"
	require.NoError(t, netpolicy.Prepare(t.Context(), w.intake(), r))
	return r
}

func (w *world) outcome(t *testing.T) netpolicy.Outcome {
	t.Helper()
	o, found, err := netpolicy.ReadOutcome(w.node.Files(), policy)
	require.NoError(t, err)
	require.True(t, found)
	return o
}

// The process dies between the commit of the network and the journal's entry, as often as it may begin: the network stays, and is
// recorded and reported as changed, never as rolled back.
func TestACommittedNetworkIsNotReportedAsRolledBack(t *testing.T) {
	w := newWorld(false)
	w.prepare(t)
	afterwards := dying(netpolicy.StepApply, func(do func(context.Context) error) func(context.Context) error {
		return func(ctx context.Context) error {
			require.NoError(t, do(ctx))
			panic("killed")
		}
	})
	for range 3 {
		w.killed(t, afterwards)
	}
	require.NoError(t, netpolicy.Run(t.Context(), w.ports(), operation.Instruments{}))
	at, err := w.address()
	require.NoError(t, err)
	require.Equal(t, after, at)
	require.Equal(t, netpolicy.ResultChanged, w.outcome(t).Result)
	c, err := record.Store{Files: w.node.Files()}.Committed(policy)
	require.NoError(t, err)
	require.NotEmpty(t, c.Revert)
	_, err = netpolicy.ReadRequest(w.node.Files())
	require.ErrorIs(t, err, netpolicy.ErrNoRequest)
}

// And the reverse: what was given up before it changed anything is reported as rolled back.
func TestAGivenUpEnactmentIsReportedAsRolledBack(t *testing.T) {
	w := newWorld(false)
	w.prepare(t)
	first := dying(netpolicy.StepApply, func(func(context.Context) error) func(context.Context) error {
		return func(context.Context) error { panic("killed") }
	})
	for range 3 {
		w.killed(t, first)
	}
	require.Error(t, netpolicy.Run(t.Context(), w.ports(), operation.Instruments{}))
	at, err := w.address()
	require.NoError(t, err)
	require.Equal(t, before, at)
	o := w.outcome(t)
	require.Equal(t, netpolicy.ResultFailed, o.Result)
	require.True(t, o.Evidence.RolledBack)
	_, err = record.Store{Files: w.node.Files()}.Committed(policy)
	require.ErrorIs(t, err, record.ErrNone)
}

// A committed network whose record cannot be written is given up after three runs, and the failure says that it is committed.
func TestACommittedNetworkWithoutARecordIsReportedAsCommitted(t *testing.T) {
	w, full := newWorld(false), errors.New("no space left on device")
	r := w.prepare(t)
	unrecorded := dying(netpolicy.StepRecord, func(func(context.Context) error) func(context.Context) error {
		return func(context.Context) error { return full }
	})
	for range 3 {
		require.ErrorIs(t, netpolicy.RunWrapped(t.Context(), w.ports(), operation.Instruments{}, unrecorded), full)
	}

	// A journal that this version cannot read has not ended: the request waits for a version that can.
	journal := operation.JournalPath(r.OperationID)
	readable, err := w.node.Files().Read(journal)
	require.NoError(t, err)
	require.NoError(t, w.node.Files().Append(journal, []byte(`{"v":99}`+"\n"), 0o600))
	require.ErrorIs(t, netpolicy.Run(t.Context(), w.ports(), operation.Instruments{}), flow.ErrUnreadable)
	require.True(t, netpolicy.Unreadable(w.node.Files(), r))
	_, found, err := netpolicy.ReadOutcome(w.node.Files(), policy)
	require.NoError(t, err)
	require.False(t, found)
	_, err = netpolicy.ReadRequest(w.node.Files())
	require.NoError(t, err)

	require.NoError(t, w.node.Files().Write(journal, readable, 0o600))
	w.node.FailWhen(func(op hosttest.Op, _ int) error {
		if strings.Contains(op.String(), record.Dir+"/committed") || strings.Contains(op.String(), record.Dir+"/history") {
			return full
		}
		return nil
	})
	require.ErrorIs(t, netpolicy.Run(t.Context(), w.ports(), operation.Instruments{}), flow.ErrGivenUp)
	o := w.outcome(t)
	require.Equal(t, netpolicy.ResultFailed, o.Result)
	require.Equal(t, netpolicy.PhaseCommit, o.Evidence.Phase)
	require.Contains(t, o.Evidence.Message, "the network is committed")
	require.False(t, o.Evidence.RolledBack)
	at, err := w.address()
	require.NoError(t, err)
	require.Equal(t, after, at)
}

// Where the record can be written in the end, the policy is in force and can be reverted.
func TestACommittedNetworkIsRecordedWhenItIsGivenUp(t *testing.T) {
	w, full := newWorld(false), errors.New("no space left on device")
	w.prepare(t)
	unrecorded := dying(netpolicy.StepRecord, func(func(context.Context) error) func(context.Context) error {
		return func(context.Context) error { return full }
	})
	for range 3 {
		require.ErrorIs(t, netpolicy.RunWrapped(t.Context(), w.ports(), operation.Instruments{}, unrecorded), full)
	}
	require.NoError(t, netpolicy.Run(t.Context(), w.ports(), operation.Instruments{}))
	require.Equal(t, netpolicy.ResultChanged, w.outcome(t).Result)
	c, err := record.Store{Files: w.node.Files()}.Committed(policy)
	require.NoError(t, err)
	require.NotEmpty(t, c.Revert)
}

// A request that came with the copy of a stateroot is dropped: it was made for another network.
func TestARequestOfAnotherStaterootIsDropped(t *testing.T) {
	w := newWorld(false)
	w.ask.Stateroot = "the-former"
	w.prepare(t)
	require.NoError(t, netpolicy.Run(t.Context(), w.ports(), operation.Instruments{}))
	at, err := w.address()
	require.NoError(t, err)
	require.Equal(t, before, at)
	_, err = netpolicy.ReadRequest(w.node.Files())
	require.ErrorIs(t, err, netpolicy.ErrNoRequest)
	_, found, err := netpolicy.ReadOutcome(w.node.Files(), policy)
	require.NoError(t, err)
	require.False(t, found)
}
