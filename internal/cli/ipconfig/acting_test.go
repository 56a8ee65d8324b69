package ipconfig_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/initmonitor"
	cli "github.com/lifecycle-agent/lifecycle-agent/internal/cli/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// byHand is a node with an administrator at its console.
type byHand struct {
	t    *testing.T
	node *hosttest.Node
	out  bytes.Buffer
}

// newByHand is a node on which post-pivot runs, in a stateroot made from former.
func newByHand(t *testing.T, former string) *byHand {
	b := &byHand{t: t, node: hosttest.NewNode(hosttest.Options{Stateroot: ipconfig.StaterootName("op")})}
	r := ipconfig.Request{OperationID: "op", NewStateroot: ipconfig.StaterootName("op"), OldStateroot: former}
	require.NoError(t, ipconfig.WriteRequest(b.node.Files(), r, ipconfig.PostPivotConfig{}, ipconfig.AutoRollback{MonitorEnabled: true}))
	if former == "rhcos" {
		back, err := b.node.Deployments().Clone(t.Context(), former)
		require.NoError(t, err)
		all, err := b.node.Deployments().List(t.Context())
		require.NoError(t, err)
		booted, err := host.Booted(all)
		require.NoError(t, err)
		require.NoError(t, operation.WriteStateroot(b.node.Files(), booted, r.Made(operation.NameOf(back), time.Now())))
	}
	unit := "[Service]\nType=exec\nExecStart=sleep\n[Install]\nWantedBy=multi-user.target\n"
	require.NoError(t, b.node.Seed(host.UnitDir+"/"+ipconfig.UnitIPConfiguration, []byte(unit)))
	require.NoError(t, b.node.Units().Start(t.Context(), ipconfig.UnitIPConfiguration))
	return b
}

// hurried is a clock that is moved on by whoever sleeps.
type hurried struct{ now time.Time }

func (c *hurried) Now() time.Time { return c.now }

func (c *hurried) Sleep(ctx context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	return ctx.Err()
}

func (b *byHand) wiring() cli.Wiring {
	n := b.node
	return cli.Wiring{
		Node: func(context.Context, bool) (change.Ports, operation.Instruments, error) {
			return change.Ports{Node: n.Ports(), Log: slog.New(slog.DiscardHandler), Clock: &hurried{}}, operation.Instruments{}, nil
		},
		Wiring: verb.Wiring{
			Lock: n.Lock(), LockTimeout: 20 * time.Millisecond, Log: slog.New(slog.DiscardHandler), Out: &b.out, Clock: &hurried{},
		},
	}
}

func (b *byHand) run(args ...string) error {
	cmd := cli.Command(b.wiring())
	if args[0] == "init-monitor" {
		cmd, args = initmonitor.Command(b.wiring()), args[1:]
	}
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	return b.node.Run(b.t.Context(), func(ctx context.Context) error { return cmd.ExecuteContext(ctx) })
}

func (b *byHand) postPivotRuns() bool {
	s, err := b.node.Units().State(b.t.Context(), ipconfig.UnitIPConfiguration)
	require.NoError(b.t, err)
	return s.Running()
}

func TestNoWayBackLeavesPostPivotAlone(t *testing.T) {
	for _, args := range [][]string{{"rollback"}, {"rollback", "--stateroot", "elsewhere"}, {"init-monitor", "--monitor"}} {
		b := newByHand(t, "gone")
		var final *verb.FinalError
		require.ErrorAs(t, b.run(args...), &final, args)
		require.True(t, b.postPivotRuns(), "%v: what cannot go back must at least go on", args)
	}
}

func TestTheWatchdogGoesBackWithoutARequest(t *testing.T) {
	for name, content := range map[string]string{"garbled": "\x00", "of another version": `{"bond":"bond0"}`} {
		t.Run(name, func(t *testing.T) {
			b := newByHand(t, "rhcos")
			require.NoError(t, b.node.Files().Write(ipconfig.RequestFile, []byte(content), 0o600))
			require.NoError(t, b.node.Files().Write(ipconfig.MonitorModeFile, []byte("ipc\x00nfig"), 0o600))
			require.ErrorIs(t, b.run("init-monitor", "--monitor"), hosttest.Rebooted)
			require.Equal(t, "rhcos", b.node.Describe().Default)
		})
	}
}

// TestTheNodeIsNotChangedByTwo has somebody else at work on the node.
func TestTheNodeIsNotChangedByTwo(t *testing.T) {
	stranger := host.Holder{Operation: "firmware update", Program: "fwupd"}
	for _, args := range [][]string{{"pre-pivot"}, {"post-pivot"}, {"rollback"}, {"cleanup"}} {
		b := newByHand(t, "rhcos")
		release, err := b.node.Lock().Acquire(t.Context(), stranger)
		require.NoError(t, err)
		b.node.ForgetOps()
		err = b.run(args...)
		require.ErrorContains(t, err, "another operation holds this node: firmware update (fwupd, pid ", args)
		var final *verb.FinalError
		require.NotErrorAs(t, err, &final, "systemd is to try again")
		for _, op := range b.node.Ops() {
			require.Equal(t, "units.stop", op.Name, "%v: nothing but the way is cleared: %s", args, op)
		}
		release()
		require.NotErrorAs(t, b.run(args...), new(*host.BusyError))
	}
}

// TestTheWatchdogDoesNotWaitForEver: going back is the last resort of a node that nobody can reach.
func TestTheWatchdogDoesNotWaitForEver(t *testing.T) {
	b := newByHand(t, "rhcos")
	_, err := b.node.Lock().Acquire(t.Context(), host.Holder{Operation: "hangs", Program: "hangs"})
	require.NoError(t, err)
	require.ErrorIs(t, b.run("init-monitor", "--monitor"), hosttest.Rebooted)
	require.Equal(t, "rhcos", b.node.Describe().Default)
}

// TestTheNodeIsFreeAfterARollback, in the boot that follows.
func TestTheNodeIsFreeAfterARollback(t *testing.T) {
	b := newByHand(t, "rhcos")
	require.ErrorIs(t, b.run("rollback"), hosttest.Rebooted)
	require.NoError(t, b.node.Boot(t.Context()))
	require.Equal(t, "rhcos", b.node.Describe().Booted)
	h, held, err := b.node.Lock().Holder(t.Context())
	require.NoError(t, err)
	require.False(t, held, "%v", h)
}

func TestNothingPreparedIsFinal(t *testing.T) {
	b := newByHand(t, "gone")
	require.NoError(t, b.node.Files().Remove(host.Workspace))
	for _, args := range [][]string{{"pre-pivot"}, {"post-pivot"}, {"rollback"}, {"init-monitor", "--monitor"}} {
		var final *verb.FinalError
		require.ErrorAs(t, b.run(args...), &final, args)
	}
	require.NoError(t, b.run("status"))
	require.Contains(t, b.out.String(), "idle")
}

func TestStatusHelpsWhereTheRequestIsGarbled(t *testing.T) {
	b := newByHand(t, "gone")
	require.NoError(t, b.node.Files().Write(ipconfig.RequestFile, []byte("\x00"), 0o600))
	require.NoError(t, b.run("status"))
	require.Contains(t, b.out.String(), "'lca-cli ip-config cleanup' removes it")
	require.Contains(t, b.out.String(), ipconfig.StaterootName("op"))
}

func TestAStoppedWatchdogIsNoFailure(t *testing.T) {
	b := newByHand(t, "rhcos")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("systemctl stop"))
	cmd := initmonitor.Command(b.wiring())
	cmd.SetArgs([]string{"--monitor"})
	require.NoError(t, cmd.ExecuteContext(ctx))
	require.Equal(t, ipconfig.StaterootName("op"), b.node.Describe().Default)
}
