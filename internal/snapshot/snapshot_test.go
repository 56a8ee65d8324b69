package snapshot_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow/flowtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/snapshot"
)

const (
	running = "rhcos"
	copied  = "before-upgrade"
	unit    = "lca-stateroot-clone.service"
)

// stepped is a clock that moves on with each sleep.
type stepped struct{ now time.Time }

func (c *stepped) Now() time.Time { return c.now }

func (c *stepped) Sleep(ctx context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	return ctx.Err()
}

// world is a node on which an administrator copies the running system.
type world struct {
	node  *hosttest.Node
	clock *stepped
	bomb  *flowtest.Bomb
	kill  bool
	ops   int
}

func newWorld(kill bool) *world {
	w := &world{node: hosttest.NewNode(hosttest.Options{Stateroot: running}), clock: &stepped{time.Unix(1e9, 0).UTC()}, kill: kill}
	w.node.Command("lca-cli stateroot clone", func(ctx context.Context, _ []string) error {
		return snapshot.RunWrapped(ctx, w.ports(), operation.Instruments{}, w.bomb.In)
	})
	return w
}

func (w *world) ports() snapshot.Ports {
	return snapshot.Ports{Node: w.node.Ports(), Clock: w.clock, Log: slog.New(slog.DiscardHandler)}
}

// ask requests the copy and starts its unit, as the verb does.
func (w *world) ask(ctx context.Context, name string) error {
	w.ops++
	id := operation.NewID(w.clock.now.Add(time.Duration(w.ops)*time.Hour), uint16(w.ops))
	if _, err := snapshot.Prepare(ctx, w.ports(), id, name); err != nil {
		return err
	}
	_ = w.node.Transients().Forget(ctx, unit)
	return w.node.Transients().Launch(ctx, host.Transient{Unit: unit, Argv: []string{host.CLI, "stateroot", "clone", name}, Restart: true})
}

// Live implements flowtest.World. After a power cut the administrator asks once more.
func (w *world) Live(bomb *flowtest.Bomb) error {
	w.bomb = bomb
	if bomb != nil {
		w.arm(bomb)
	}
	for range 4 {
		if _, err := snapshot.ReadRequest(w.node.Files()); err == nil || !w.made() {
			err := w.node.Run(context.Background(), func(ctx context.Context) error { return w.ask(ctx, copied) })
			if err != nil && !errors.Is(err, hosttest.PowerCut) {
				return err
			}
		}
		if err := w.node.Settle(context.Background(), 4); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) arm(bomb *flowtest.Bomb) {
	bomb.Kill = func() { w.node.Cut(); panic(hosttest.PowerCut) }
	arm := w.node.CrashAt
	if w.kill {
		bomb.Kill = func() { panic(hosttest.Killed) }
		arm = w.node.KillAt
	}
	bomb.ArmInside = func(n int) func() {
		arm(n)
		return w.node.Disarm
	}
}

func (w *world) made() bool { return w.node.Describe().Stateroots[copied].Deployed }

// Judge implements flowtest.World: the system that ran runs, with its cluster, and the copy is whole.
func (w *world) Judge() (string, error) {
	d := w.node.Describe()
	if d.Booted != running || d.Default != running {
		return "", fmt.Errorf("%s runs and %s boots next", d.Booted, d.Default)
	}
	if err := w.node.ClusterUp(); err != nil {
		return "", fmt.Errorf("the cluster is down: %w", err)
	}
	if !w.made() {
		return "", errors.New("the copy was never finished")
	}
	if have, want := d.Stateroots[copied].Keystore, d.Stateroots[running].Keystore; fmt.Sprint(have) != fmt.Sprint(want) {
		return "", fmt.Errorf("the copy's etcd holds %v, not %v", have, want)
	}
	return "copied", nil
}

// Again implements flowtest.World: a second copy under another name, and the first one removed.
func (w *world) Again() error {
	w.bomb = nil
	return w.node.Run(context.Background(), func(ctx context.Context) error {
		if err := w.ask(ctx, "another"); err != nil {
			return err
		}
		if err := w.node.Settle(ctx, 1); err != nil {
			return err
		}
		return snapshot.Remove(ctx, w.ports(), copied, nil)
	})
}

func TestCrashMatrix(t *testing.T) {
	for name, kill := range map[string]bool{"power-cut": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			plan := snapshot.Plan(newWorld(kill).ports(), snapshot.Request{New: copied, Old: running})
			require.NoError(t, plan.Validate())
			res := flowtest.Matrix(t, []flow.Plan{plan}, func(*testing.T) flowtest.World { return newWorld(kill) })
			t.Logf("%s: %s", name, res)
			require.Equal(t, res.Cells, res.Verdicts["copied"])
		})
	}
}
