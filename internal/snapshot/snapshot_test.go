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
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation/operationtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/snapshot"
)

const (
	running = "rhcos"
	copied  = "before-upgrade"
	unit    = "lca-stateroot-clone.service"
)

// world is a node on which an administrator copies the running system.
type world struct {
	node  *hosttest.Node
	clock *operationtest.Clock
	bomb  *flowtest.Bomb
	kill  bool
	ops   int
}

func newWorld(kill bool) *world {
	w := &world{node: hosttest.NewNode(hosttest.Options{Stateroot: running}), clock: &operationtest.Clock{Time: time.Unix(1e9, 0).UTC()}, kill: kill}
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
	id := operation.NewID(w.clock.Time.Add(time.Duration(w.ops)*time.Hour), uint16(w.ops))
	if _, err := snapshot.Prepare(ctx, w.ports(), id, name); err != nil {
		return err
	}
	_ = w.node.Transients().Forget(ctx, unit)
	return w.node.Transients().Launch(ctx, host.Transient{Unit: unit, Argv: []string{host.CLI, "stateroot", "clone", name}, Restart: true})
}

// Live implements flowtest.World. After a power cut the administrator asks once more.
func (w *world) Live(bomb *flowtest.Bomb) error {
	w.bomb = bomb
	operationtest.Arm(bomb, w.node, w.kill)
	for range 4 {
		if w.unfinished() || !w.made() {
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

func (w *world) unfinished() bool {
	_, err := w.node.Files().Stat(snapshot.RequestFile)
	return err == nil
}

// TakeWayOut implements flowtest.Person: a copy that was rolled back is asked for again, and a cluster that was not started is
// started by the commands that the message has.
func (w *world) TakeWayOut() error {
	ctx := context.Background()
	if !w.made() {
		return w.Live(nil)
	}
	if _, held, err := snapshot.Kind(w.ports()).Reservation(w.ports().Node).Unfinished(ctx); err != nil || held {
		return fmt.Errorf("the node is held: %w", err)
	}
	return w.node.Run(ctx, func(ctx context.Context) error {
		return errors.Join(w.node.RuntimeMasks().Unmask(ctx, host.UnitKubelet), w.node.Units().Start(ctx, host.UnitKubelet))
	})
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

// TestAFlowThatIsGivenUpHasAWayOut has each step fail until nobody tries any more.
func TestAFlowThatIsGivenUpHasAWayOut(t *testing.T) {
	plan := snapshot.Plan(newWorld(false).ports(), snapshot.Request{New: copied, Old: running})
	res := flowtest.GiveUp(t, []flow.Plan{plan}, func(*testing.T) flowtest.Person { return newWorld(false) })
	require.Equal(t, 2*len(plan.Steps), res.Cells)
}

// TestAClusterThatDoesNotStartIsToldWithTheCommandsForIt: the copy is whole, and the request does not hold the node for ever.
func TestAClusterThatDoesNotStartIsToldWithTheCommandsForIt(t *testing.T) {
	w := newWorld(false)
	ctx := t.Context()
	w.node.FailWhen(func(op hosttest.Op, _ int) error {
		if op.Name == "units.unmask" {
			return errors.New("systemd does not answer")
		}
		return nil
	})
	_, err := snapshot.Prepare(ctx, w.ports(), "20260101-000000-0001", copied)
	require.NoError(t, err)
	for range 3 {
		err = snapshot.Run(ctx, w.ports(), operation.Instruments{})
		require.ErrorContains(t, err, "systemd does not answer")
		require.Equal(t, flow.EndingInterrupted, flow.EndingOf(err))
	}
	err = snapshot.Run(ctx, w.ports(), operation.Instruments{})
	require.Equal(t, flow.EndingGivenUp, flow.EndingOf(err))
	require.ErrorContains(t, err, "The copy is complete, but the cluster does not run: reboot the node, or start it with "+
		"'systemctl unmask --runtime kubelet.service && systemctl start kubelet.service'")
	w.node.Disarm()
	require.False(t, w.unfinished())
	_, err = snapshot.Prepare(ctx, w.ports(), "20260101-000000-0002", "another")
	require.NoError(t, err)
}
