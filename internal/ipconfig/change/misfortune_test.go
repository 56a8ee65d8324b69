package change_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow/flowtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// arrived is the operation's journal in the stateroot that runs.
func arrived(w *world) string {
	op, err := w.open(context.Background())
	require.NoError(w.t, err)
	return operation.JournalPath(op.Request.OperationID)
}

// TestMisfortunesInTheNewStateroot happen right after the reboot, before anything of the change is done
// there. The node must never stay where it is: neither network nor cluster would ever be right.
func TestMisfortunesInTheNewStateroot(t *testing.T) {
	for _, c := range []struct {
		name    string
		happens func(*world)
		verdict string
		cause   string
	}{
		{"request removed", func(w *world) {
			require.NoError(w.t, w.node.Files().Remove(ipconfig.RequestFile))
		}, "old", "no IP change is prepared on this stateroot"},
		{"request garbled", func(w *world) {
			require.NoError(w.t, w.node.Files().Write(ipconfig.RequestFile, []byte("\x00\x00"), 0o600))
		}, "old", "the request of the operation cannot be read"},
		{"request of another version", func(w *world) {
			require.NoError(w.t, w.node.Files().Write(ipconfig.RequestFile, []byte(`{"bond":"bond0"}`), 0o600))
		}, "old", `unknown field "bond"`},
		{"workspace removed", func(w *world) {
			require.NoError(w.t, w.node.Files().Remove(host.Workspace))
		}, "old", "no IP change is prepared on this stateroot"},
		{"toggles garbled", func(w *world) {
			require.NoError(w.t, w.node.Files().Write(ipconfig.AutoRollbackFile, []byte("{"), 0o600))
		}, "old", "is not what was sealed"},
		{"journal garbled", func(w *world) {
			data, err := w.node.Files().Read(arrived(w))
			require.NoError(w.t, err)
			require.NoError(w.t, w.node.Files().Write(arrived(w), append([]byte("\x00\x00\n"), data...), 0o600))
		}, "old", "given up: journal is not readable by this version: line 1: "},
		{"journal removed", func(w *world) { require.NoError(w.t, w.node.Files().Remove(arrived(w))) }, "new", ""},
		{"disk full", func(w *world) {
			w.node.SetFree(0)
			w.power = func() error { w.node.SetFree(1 << 40); return nil } // the old system has room again
		}, "old", "no space left on device"},
		{"request garbled, journal removed", func(w *world) {
			require.NoError(w.t, w.node.Files().Remove(arrived(w)))
			require.NoError(w.t, w.node.Files().Write(ipconfig.RequestFile, []byte("\x00\x00"), 0o600))
		}, "old", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.arrival = c.happens
			require.NoError(t, w.Live(nil))
			verdict, err := w.Judge()
			require.NoError(t, err)
			require.Equal(t, c.verdict, verdict, "%v", w.node.Failures())
			if verdict == "old" && c.cause != "" {
				r, err := ipconfig.ReadRequest(w.node.Files())
				require.NoError(t, err)
				p, err := ipconfig.ReadProgress(w.node.Files(), r.OperationID)
				require.NoError(t, err)
				require.True(t, p.Automatic(), p.Cause)
				require.Contains(t, p.Cause, c.cause)
			}
			require.NoError(t, w.Again())
		})
	}
}

// on runs what an administrator does by hand.
func (w *world) on(what func(*change.Operation, context.Context) error) error {
	return w.node.Run(context.Background(), func(ctx context.Context) error {
		op, err := w.open(ctx)
		if err != nil {
			return err
		}
		return what(op, ctx)
	})
}

func TestCleanupByHandDoesNotStrandAnUnfinishedChange(t *testing.T) {
	w := newWorld(t)
	w.arrival = func(w *world) {
		err := w.on((*change.Operation).CleanUp)
		require.ErrorIs(t, err, operation.ErrRefused)
		require.ErrorContains(t, err, "its cluster would never start")
	}
	require.NoError(t, w.Live(nil))
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "new", verdict)
	require.Contains(t, w.node.Describe().Stateroots, oldStateroot)
}

func TestAnOperationThatCameBackIsNotGoneOnWith(t *testing.T) {
	w := newWorld(t)
	w.recert = brokenRecert{}
	require.NoError(t, w.Live(nil))
	w.node.ForgetOps()
	err := w.on((*change.Operation).PrePivot)
	require.ErrorIs(t, err, operation.ErrRefused)
	require.ErrorContains(t, err, "set spec.stage to Idle")
	require.Empty(t, w.node.Ops())
}

func TestRollbackGoesWhereTheChangeCameFromOnly(t *testing.T) {
	w := newWorld(t)
	w.arrival = func(w *world) {
		require.ErrorIs(t, w.on(func(o *change.Operation, ctx context.Context) error {
			return o.RollBack(ctx, "elsewhere", ipconfig.CauseRequested)
		}), operation.ErrRefused)
	}
	require.NoError(t, w.Live(nil))
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "new", verdict)

	w = newWorld(t) // and never into what is being made
	w.recert = brokenRecert{}
	require.NoError(t, w.Live(nil))
	require.ErrorIs(t, w.on(func(o *change.Operation, ctx context.Context) error {
		return o.RollBack(ctx, o.Request.NewStateroot, ipconfig.CauseRequested)
	}), operation.ErrRefused)
}

// stoppedAt lets inside stop lca-cli while it does the step, as systemd's SIGTERM does.
func stoppedAt(w *world, step string, inside func(stop func())) {
	w.wrap = func(p flow.Plan) flow.Plan {
		for i, s := range p.Steps {
			if s.Name != step {
				continue
			}
			p.Steps[i].Do = func(ctx context.Context) error {
				ctx, cancel := context.WithCancel(ctx)
				inside(cancel)
				err := s.Do(ctx)
				cancel()
				return err
			}
		}
		return p
	}
}

// TestAStopBetweenFlipAndRebootComesTooLate stops lca-cli when what boots next is no longer what runs.
func TestAStopBetweenFlipAndRebootComesTooLate(t *testing.T) {
	w := newWorld(t)
	stoppedAt(w, ipconfig.StepReboot, func(stop func()) { stop() })
	require.NoError(t, w.Live(nil))
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "new", verdict)
}

// TestCleanupRevivesAClusterThatWasLeftStopped cleans up after a pre-pivot that chose the new stateroot and
// then could not reboot.
func TestCleanupRevivesAClusterThatWasLeftStopped(t *testing.T) {
	for _, name := range []string{"", "request lost as well"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			ctx := context.Background()
			require.NoError(t, w.node.Run(ctx, func(ctx context.Context) error { return w.request(ctx, newSite, oldSite) }))
			w.power = func() error { return errors.New("logind is gone") }
			require.ErrorContains(t, w.on((*change.Operation).PrePivot), "logind is gone")
			require.Error(t, w.node.ClusterUp())
			_, chosen, err := w.node.OneTimeBoot().ChosenOnce(ctx)
			require.NoError(t, err)
			require.True(t, chosen, "the new stateroot boots next")
			if name != "" {
				require.NoError(t, w.node.Files().Remove(ipconfig.RequestFile))
				require.NoError(t, change.CleanUpBare(ctx, w.ports()))
			} else {
				require.NoError(t, w.on((*change.Operation).CleanUp))
			}
			verdict, err := w.Judge()
			require.NoError(t, err)
			require.Equal(t, "old", verdict)
			require.Len(t, w.node.Describe().Stateroots, 1)
			w.power = nil
			require.NoError(t, w.Again())
		})
	}
}

// TestARollbackThatWasBegunIsGoneOnWith lets the first attempt to go back fail, and what had failed before work
// again: the node keeps its word.
func TestARollbackThatWasBegunIsGoneOnWith(t *testing.T) {
	w := newWorld(t)
	w.recert = brokenRecert{}
	fails := 0
	w.power = func() error {
		if w.node.Describe().Booted == oldStateroot {
			return nil
		}
		if fails++; fails == 1 {
			w.recert = w.node.FakeRecert()
			return errors.New("logind is gone")
		}
		return nil
	}
	require.NoError(t, w.Live(nil))
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "old", verdict)
}

// TestDeathWhileTakingBack fails the last step before the flip, and then dies at every single effect of the undoing.
func TestDeathWhileTakingBack(t *testing.T) {
	effects := 0
	takeBack(t, func(w *world) { w.node.CrashWhen(func(_ hosttest.Op, seen int) bool { effects = seen; return false }) })
	require.Greater(t, effects, 5)
	for name, arm := range map[string]func(*hosttest.Node, int){"power-cut": (*hosttest.Node).CrashAt, "killed": (*hosttest.Node).KillAt} {
		t.Run(name, func(t *testing.T) {
			flowtest.Points(t, effects, func(t *testing.T, at int) {
				w, verdict := takeBack(t, func(w *world) { arm(w.node, at+1) })
				require.Equal(t, 1, w.node.Struck(), "the effect was reached")
				if at > 1 { // the first two are the record of the failure: without it the run goes on
					require.Equal(t, "old", verdict)
				}
			})
		})
	}
}

// takeBack fails the last step before the flip once, calls arm then, and says what the node is in the end.
func takeBack(t *testing.T, arm func(*world)) (*world, string) {
	w := newWorld(t)
	armed := false
	w.wrap = func(p flow.Plan) flow.Plan {
		for i, s := range p.Steps {
			if s.Name == ipconfig.StepSeal && !armed {
				p.Steps[i].Do = func(context.Context) error {
					armed = true
					arm(w)
					return errors.New("input/output error")
				}
			}
		}
		return p
	}
	require.NoError(t, w.Live(nil))
	w.node.Disarm()
	verdict, err := w.Judge()
	require.NoError(t, err)
	w.wrap = nil
	require.NoError(t, w.Again())
	return w, verdict
}
