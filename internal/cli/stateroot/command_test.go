package stateroot_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cli "github.com/lifecycle-agent/lifecycle-agent/internal/cli/stateroot"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/snapshot"
)

// console is an administrator at the console of a node.
type console struct {
	node *hosttest.Node
	out  bytes.Buffer
	ids  uint16
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
	c := &console{node: hosttest.NewNode(hosttest.Options{Stateroot: "rhcos"})}
	c.node.Command("lca-cli stateroot clone", func(ctx context.Context, argv []string) error {
		return c.execute(ctx, argv[1:])
	})
	return c
}

func (c *console) wiring() cli.Wiring {
	return cli.Wiring{
		Wiring: verb.Wiring{Lock: c.node.Lock(), Log: slog.New(slog.DiscardHandler), Out: &c.out, Clock: nodeTime{c.node}},
		Node: func(context.Context, bool) (snapshot.Ports, operation.Instruments, error) {
			return snapshot.Ports{Node: c.node.Ports(), Clock: flow.SystemClock{}, Log: slog.New(slog.DiscardHandler)}, operation.Instruments{}, nil
		},
		Kept:  func(context.Context, snapshot.Ports) ([]string, error) { return nil, nil },
		NewID: func() string { c.ids++; return operation.NewID(time.Unix(1e9, 0), c.ids) },
	}
}

func (c *console) execute(ctx context.Context, args []string) error {
	cmd := cli.Command(c.wiring())
	switch args[0] {
	case "status":
		cmd = c.wiring().StatusCommand("", c.wiring().Newest(verb.Node{Files: c.node.Files(), Deployments: c.node.Deployments()}))
		args = args[1:]
	case "stateroot":
		args = args[1:]
	}
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	return cmd.ExecuteContext(ctx)
}

func (c *console) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	c.out.Reset()
	err := c.node.Run(t.Context(), func(ctx context.Context) error { return c.execute(ctx, args) })
	return c.out.String(), err
}

func TestACopyIsMadeListedAndRemoved(t *testing.T) {
	c := newConsole()
	out, err := c.run(t, "clone", "before-upgrade")
	require.NoError(t, err)
	require.Contains(t, out, "stateroot before-upgrade is a bootable copy of rhcos\n")
	require.NoError(t, c.node.ClusterUp(), "the cluster runs again")

	out, err = c.run(t, "list")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^before-upgrade +- +- +[0-9a-z]`, out)
	require.Regexp(t, `(?m)^rhcos +yes +yes +[0-9a-z]`, out)

	_, err = c.run(t, "remove", "before-upgrade")
	require.NoError(t, err)
	out, err = c.run(t, "list", "-o", "json")
	require.NoError(t, err)
	require.NotContains(t, out, "before-upgrade")
}

func TestStatusShowsAnyOperation(t *testing.T) {
	c := newConsole()
	out, err := c.run(t, "status")
	require.NoError(t, err)
	require.Regexp(t, `Where +idle`, out)
	_, err = c.run(t, "clone", "before-upgrade")
	require.NoError(t, err)
	out, err = c.run(t, "status")
	require.NoError(t, err)
	require.Regexp(t, `Where +stateroot-clone finished`, out)
	require.Regexp(t, `stateroot-clone +quiesce +[0-9.]+ +done`, out)
}

// TestAnUnfinishedCopyIsGivenUp aborts a copy whose unit a power cut ended, and makes another one.
func TestAnUnfinishedCopyIsGivenUp(t *testing.T) {
	c := newConsole()
	_, err := c.run(t, "abort")
	var final *verb.FinalError
	require.ErrorAs(t, err, &final, "nothing is under way")

	stuck := errors.New("the disk hangs")
	c.node.FailWhen(func(op hosttest.Op, _ int) error {
		if op.Name == "trees.copy" || strings.HasPrefix(op.Name, "deployments.remove") {
			return stuck
		}
		return nil
	})
	_, err = c.run(t, "clone", "before-upgrade")
	require.ErrorContains(t, err, stuck.Error())
	_, err = c.run(t, "clone", "another")
	require.ErrorContains(t, err, "give it up with 'lca-cli stateroot abort'")
	c.node.Disarm()

	out, err := c.run(t, "abort")
	require.NoError(t, err)
	require.Contains(t, out, "the copy before-upgrade is given up\n")
	require.Len(t, c.node.Describe().Stateroots, 1)
	require.NoError(t, c.node.ClusterUp())
	_, err = c.run(t, "clone", "another")
	require.NoError(t, err)
}

// TestACopyThatIsCompleteIsNotGivenUp aborts while only the cluster has to be started: it is.
func TestACopyThatIsCompleteIsNotGivenUp(t *testing.T) {
	c := newConsole()
	hangs := true
	c.node.FailWhen(func(op hosttest.Op, _ int) error {
		if hangs && op.Name == "units.unmask" {
			return errors.New("systemd does not answer")
		}
		return nil
	})
	node, _, err := c.wiring().Node(t.Context(), true)
	require.NoError(t, err)
	_, err = snapshot.Prepare(t.Context(), node, "20260101-000000-0001", "before-upgrade")
	require.NoError(t, err)
	require.Error(t, snapshot.Run(t.Context(), node, operation.Instruments{}))
	require.Error(t, c.node.ClusterUp())

	hangs = false
	out, err := c.run(t, "abort")
	require.NoError(t, err)
	require.Contains(t, out, "the copy before-upgrade is complete and stays")
	require.NoError(t, c.node.ClusterUp())
	require.Contains(t, c.node.Describe().Stateroots, "before-upgrade")
}

func TestARefusalIsFinal(t *testing.T) {
	c := newConsole()
	for _, args := range [][]string{{"clone", "rhcos"}, {"remove", "rhcos"}, {"remove", "absent"}} {
		_, err := c.run(t, args...)
		var final *verb.FinalError
		require.ErrorAs(t, err, &final, "%v", args)
	}
}
