package netpolicy_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	cli "github.com/lifecycle-agent/lifecycle-agent/internal/cli/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/record"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// console is an administrator at the console of a node.
type console struct {
	node *hosttest.Node
	out  bytes.Buffer
	ops  uint16
}

// nodeTime is a clock that lets the node's units run while a verb waits.
type nodeTime struct{ node *hosttest.Node }

func (nodeTime) Now() time.Time { return time.Unix(1e9, 0) }

func (c nodeTime) Sleep(ctx context.Context, _ time.Duration) error {
	if err := c.node.Settle(ctx, 1); err != nil {
		return err
	}
	return ctx.Err()
}

func newConsole() *console {
	c := &console{node: hosttest.NewNode(hosttest.Options{})}
	c.node.Command("lca-cli network enact", func(ctx context.Context, _ []string) error { return c.execute(ctx, "enact") })
	return c
}

func (c *console) execute(ctx context.Context, args ...string) error {
	root := &cobra.Command{Use: "network", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(cli.Commands(cli.Wiring{
		Wiring: verb.Wiring{Lock: c.node.Lock(), Log: slog.New(slog.DiscardHandler), Out: &c.out, Clock: nodeTime{c.node}},
		Node: func(context.Context) (netpolicy.Ports, operation.Instruments, error) {
			return netpolicy.Ports{Node: c.node.Ports(), Clock: flow.SystemClock{}, Log: slog.New(slog.DiscardHandler)}, operation.Instruments{}, nil
		},
		NewID: func() string { c.ops++; return operation.NewID(time.Unix(1e9+int64(c.ops), 0), c.ops) },
	})...)
	root.SetArgs(args)
	return root.ExecuteContext(ctx)
}

func (c *console) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	c.out.Reset()
	err := c.node.Run(t.Context(), func(ctx context.Context) error { return c.execute(ctx, args...) })
	return c.out.String(), err
}

func TestAChangeIsListedAndUndone(t *testing.T) {
	c := newConsole()
	_, err := c.run(t, "undo")
	var final *verb.FinalError
	require.ErrorAs(t, err, &final)
	require.ErrorContains(t, err, "no change of this node's network can be undone")
	_, err = c.run(t, "recover")
	require.NoError(t, err)

	r := netpolicy.Request{OperationID: "20010909-014640-0000", Action: netpolicy.ActionApply, Policy: "mtu", Generation: 3,
		Document: `{"interfaces":[{"name":"br-ex","type":"ovs-interface","state":"up","mtu":1400}]}`}
	require.NoError(t, c.node.Run(t.Context(), func(ctx context.Context) error {
		return netpolicy.Prepare(ctx, operation.Intake{Files: c.node.Files(), Boots: c.node.Power(), Log: slog.New(slog.DiscardHandler)}, r)
	}))
	_, err = c.run(t, "enact")
	require.NoError(t, err)
	out, err := c.run(t, "history")
	require.NoError(t, err)
	require.Regexp(t, `20010909-014640-0000 +\S+ +mtu +3 +in force`, out)

	store := record.Store{Files: c.node.Files()}
	all, err := store.History()
	require.NoError(t, err)
	here := all[0]
	for stateroot, words := range map[string]string{"former": "stateroot former", "": "a stateroot that is not on record"} {
		other := here
		other.Stateroot = stateroot
		require.NoError(t, store.Add(other))
		_, err = c.run(t, "undo")
		require.ErrorContains(t, err, "was made in "+words)
	}
	require.NoError(t, store.Add(here))

	out, err = c.run(t, "undo")
	require.NoError(t, err)
	require.Equal(t, "change 20010909-014640-0000 of policy mtu is undone\n", out)
	out, err = c.run(t, "history", "-o", "json")
	require.NoError(t, err)
	require.Contains(t, out, `"undone"`)
	_, err = c.run(t, "undo", "--operation", "20010909-014640-0000")
	require.ErrorContains(t, err, "was undone by operation")
}
