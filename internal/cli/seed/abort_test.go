package seed_test

import (
	"context"
	"io/fs"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/create"
)

const creationID = "20260102-030405-0001"

// runningCreation is a terminal on a node whose unit makes an image, and has stopped the cluster. It holds the node until it is stopped,
// and does the last then.
func runningCreation(t *testing.T, last func(context.Context, create.Ports) error) *terminal {
	t.Helper()
	c := newTerminal(t)
	ports := c.ports(slog.New(slog.DiscardHandler))
	in := operation.Intake{Files: ports.Files, Boots: ports.Power, Log: ports.Log}
	require.NoError(t, seed.WriteRequest(t.Context(), in, seed.Request{OperationID: creationID, SeedImage: seedImage}))
	stopped := false
	c.node.KillWhen(func(op hosttest.Op, _ int) bool {
		stopped = stopped || strings.HasPrefix(op.String(), "units.stop "+host.UnitCRIO)
		return stopped && strings.HasPrefix(op.Name, "trees.")
	})
	require.ErrorIs(t, c.node.Run(t.Context(), func(ctx context.Context) error {
		return create.Run(ctx, ports, operation.Instruments{})
	}), hosttest.Killed)
	c.node.Disarm()
	require.Error(t, c.node.ClusterUp())
	release, err := c.node.Lock().Acquire(t.Context(), host.Holder{Operation: seed.FlowCreate + " " + creationID, Program: "lca-cli seed create"})
	require.NoError(t, err)
	c.units = stopping{ports.Units, func(ctx context.Context) error {
		release()
		return last(ctx, ports)
	}}
	return c
}

// stopping are a node's units, of which that of a creation does its last when it is stopped.
type stopping struct {
	host.Units
	last func(context.Context) error
}

func (s stopping) State(ctx context.Context, unit string) (host.UnitState, error) {
	if unit == seed.UnitCreate {
		return host.UnitState{Active: "active"}, nil
	}
	return s.Units.State(ctx, unit)
}

func (s stopping) Stop(ctx context.Context, unit string) error {
	if unit == seed.UnitCreate {
		return s.last(ctx)
	}
	return s.Units.Stop(ctx, unit)
}

// TestAbortStopsACreationThatRuns: it does not wait for its end, says what it does, and finds what the unit has made of it.
func TestAbortStopsACreationThatRuns(t *testing.T) {
	for name, k := range map[string]struct {
		last func(context.Context, create.Ports) error
		out  string
	}{
		"the unit is killed": {func(context.Context, create.Ports) error { return nil }, "is given up"},
		"the unit undoes it": {func(ctx context.Context, n create.Ports) error { return create.Abort(ctx, n, operation.Instruments{}) }, "is given up"},
		"the unit ends it":   {func(ctx context.Context, n create.Ports) error { return create.Run(ctx, n, operation.Instruments{}) }, "is published and stays"},
	} {
		t.Run(name, func(t *testing.T) {
			c := runningCreation(t, k.last)
			require.NoError(t, c.run(t, "abort"))
			require.Contains(t, c.out.String(), "the seed image "+seedImage+" "+k.out)
			require.Contains(t, c.log.String(), "unit="+seed.UnitCreate)
			require.NoError(t, c.node.ClusterUp())
			for _, file := range []string{seed.CopyDir(creationID), seed.RequestFile} {
				_, err := c.node.Files().Stat(file)
				require.ErrorIs(t, err, fs.ErrNotExist)
			}
			c.units = nil
			var final *verb.FinalError
			require.ErrorAs(t, c.run(t, "abort"), &final, "there is nothing to abort")
		})
	}
}
