package change_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// misfortune is a new system in which something does not work, until it is mended.
type misfortune struct {
	name     string
	happens  func(*world)
	mend     func(*world)
	says     string
	lastStep string
}

func newGateway() netip.Addr { return netip.MustParseAddr(newSite.gateway) }

func misfortunes() []misfortune {
	return []misfortune{
		{"dead gateway", func(w *world) { w.node.Silence(newGateway()) }, func(w *world) { w.node.Answer(newGateway()) },
			"gateway 198.51.100.1: no answer", ipconfig.StepApplyNetwork},
		{"unreachable DNS", func(w *world) { w.dns = "203.0.113.53"; w.node.Silence(netip.MustParseAddr("203.0.113.53")) },
			func(w *world) { w.node.Answer(netip.MustParseAddr("203.0.113.53")) }, "203.0.113.53", ipconfig.StepApplyNetwork},
		{"recert fails", func(w *world) { w.recert = brokenRecert{} }, func(w *world) { w.recert = w.node.FakeRecert() },
			"recert: ", ipconfig.StepRecert},
		{"the API never comes back", func(w *world) { w.noAPI = func() error { return errors.New("connection refused") } },
			func(w *world) { w.noAPI = nil }, "did not come back within 15m0s: connection refused", ipconfig.StepWaitAPI},
		{"kubelet is never ready", func(w *world) { w.notReady = func() error { return errors.New("container runtime is down") } },
			func(w *world) { w.notReady = nil }, "did not become Ready within 15m0s: container runtime is down", ipconfig.StepWaitNode},
	}
}

func TestWhatDoesNotWorkGoesBackByItself(t *testing.T) {
	for _, c := range misfortunes() {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.arrival = c.happens
			if c.name == "unreachable DNS" {
				c.happens(w)
			}
			require.NoError(t, w.Live(nil))
			w.requireVerdict("old")
			p := w.progress()
			require.True(t, p.Automatic(), p.Cause)
			require.Contains(t, p.Cause, c.says)
			require.Equal(t, c.lastStep, p.PostPivot.Step)
			c.mend(w)
			require.NoError(t, w.Again())
		})
	}
}

// TestWhatDoesNotWorkIsTriedOnWhenNobodyWantsToGoBack switches the automatic rollback off: the node waits for whoever
// mends what is broken, past every limit of runs, and then goes on.
func TestWhatDoesNotWorkIsTriedOnWhenNobodyWantsToGoBack(t *testing.T) {
	for _, c := range misfortunes() {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.annotations = map[string]string{lcav1.AutoRollbackOnFailureIPConfigRunAnnotation: "Disabled"}
			w.arrival = c.happens
			if c.name == "unreachable DNS" {
				c.happens(w)
			}
			runs := mendedAtRun(w, 8, c.mend)
			require.NoError(t, w.Live(nil))
			w.requireVerdict("new")
			require.GreaterOrEqual(t, *runs, 8)
			require.Empty(t, w.progress().Cause)
		})
	}
}

// mendedAtRun counts the runs of post-pivot, and mends what is broken when the last of so many begins.
func mendedAtRun(w *world, last int, mend func(*world)) *int {
	runs := new(int)
	w.wrap = func(p flow.Plan) flow.Plan {
		if p.Name == ipconfig.FlowPostPivot {
			if *runs++; *runs == last {
				mend(w)
			}
		}
		return p
	}
	return runs
}

func (w *world) requireVerdict(want string) {
	w.t.Helper()
	verdict, err := w.Judge()
	require.NoError(w.t, err)
	require.Equal(w.t, want, verdict, "%v", w.node.Failures())
}

func (w *world) progress() ipconfig.Progress {
	w.t.Helper()
	r, err := ipconfig.ReadRequest(w.node.Files())
	require.NoError(w.t, err)
	p, err := ipconfig.ReadProgress(w.node.Files(), r.OperationID)
	require.NoError(w.t, err)
	return p
}

func TestAnAPIThatIsGoneForMinutesIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	w.arrival = func(w *world) {
		back := w.clock.now.Add(14 * time.Minute)
		w.noAPI = func() error {
			if w.clock.now.Before(back) {
				return errors.New("connection refused")
			}
			return w.node.ClusterUp()
		}
	}
	require.NoError(t, w.Live(nil))
	w.requireVerdict("new")
	require.Empty(t, w.node.Failures())
}

// dyingInEachBoot cuts the power in every run of post-pivot, ten minutes after the one before.
func dyingInEachBoot(w *world) {
	w.wrap = func(p flow.Plan) flow.Plan {
		for i, s := range p.Steps {
			if p.Name == ipconfig.FlowPostPivot && s.Name == ipconfig.StepRecert {
				p.Steps[i].Do = func(context.Context) error {
					w.clock.now = w.clock.now.Add(10 * time.Minute)
					if w.monitor != nil {
						w.monitor.Count() // it runs beside post-pivot
					}
					w.node.Cut()
					panic(hosttest.PowerCut)
				}
			}
		}
		return p
	}
}

func TestARebootLoopIsEndedByTheLimitOfRuns(t *testing.T) {
	w := newWorld(t)
	w.node.BootsOnce(false)
	dyingInEachBoot(w)
	require.NoError(t, w.Live(nil))
	w.requireVerdict("old")
	require.Contains(t, w.progress().Cause, "given up")
	require.LessOrEqual(t, w.node.Describe().Boots, 8)
	w.wrap = nil
	require.NoError(t, w.Again())
}

// TestTheWatchdogsDeadlineSurvivesReboots has the node reboot every ten minutes, with nobody else to end that: thirty
// minutes after it was armed the watchdog does, however often it was started anew.
func TestTheWatchdogsDeadlineSurvivesReboots(t *testing.T) {
	w := newWorld(t)
	w.watched = true
	w.annotations = map[string]string{lcav1.AutoRollbackOnFailureIPConfigRunAnnotation: "Disabled"}
	dyingInEachBoot(w)
	began := w.clock.now
	require.NoError(t, w.Live(nil))
	w.requireVerdict("old")
	require.Contains(t, w.progress().Cause, "Rollback due to LCA Init Monitor timeout, after 30m0s; step ")
	took := w.clock.now.Sub(began) // the last boot may begin just before the deadline; a reboot takes time as well
	require.GreaterOrEqual(t, took, 30*time.Minute)
	require.Less(t, took, 60*time.Minute)
	w.wrap = nil
	require.NoError(t, w.Again())
}

func TestAWatchdogThatIsSwitchedOffNeverGoesBack(t *testing.T) {
	w := newWorld(t)
	w.watched = true
	w.annotations = map[string]string{
		lcav1.AutoRollbackOnFailureIPConfigRunAnnotation: "Disabled", lcav1.AutoRollbackOnFailureInitMonitorAnnotation: "Disabled"}
	dyingInEachBoot(w)
	require.ErrorIs(t, w.Live(nil), hosttest.ErrBootLoop, "nobody is left to end it, as was asked for")
	w.wrap = nil
	require.NoError(t, w.rest(t.Context()))
	w.requireVerdict("new")
}

// TestADiskThatFillsUpWhileItIsCopiedIsGivenItsRoomBack needs the copy gone before ostree can do anything.
func TestADiskThatFillsUpWhileItIsCopiedIsGivenItsRoomBack(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"a", "b", "c", "d"} {
		require.NoError(t, w.node.Seed("/var/lib/containers/"+name, make([]byte, 8<<10)))
	}
	w.wrap = func(p flow.Plan) flow.Plan {
		for i, s := range p.Steps {
			if s.Name == ipconfig.StepCopyLive {
				p.Steps[i].Do = func(ctx context.Context) error {
					w.node.SetFree(9 << 10) // somebody else wrote in the meantime
					return s.Do(ctx)
				}
			}
		}
		return p
	}
	w.node.ForgetOps()
	require.NoError(t, w.Live(nil))
	w.requireVerdict("old")
	require.ErrorContains(t, errors.Join(w.node.Failures()...), "no space left on device")
	require.Len(t, w.node.Describe().Stateroots, 1)
	for _, op := range w.node.Ops() {
		require.NotEqual(t, "units.stop", op.Name, "the cluster was never stopped: %v", op)
	}
	w.wrap = nil
	w.node.SetFree(1 << 40)
	require.NoError(t, w.Again())
}

// TestAnOldStaterootThatVanished leaves a failed change nowhere to go: it stays where it is, and tries on, without a
// limit, until somebody has mended what is broken.
func TestAnOldStaterootThatVanished(t *testing.T) {
	w := newWorld(t)
	w.node.BootsOnce(false)
	w.recert = brokenRecert{}
	heard := w.listening()
	w.arrival = func(w *world) { require.NoError(t, w.node.Deployments().Remove(t.Context(), oldStateroot)) }
	runs := mendedAtRun(w, 8, func(w *world) { w.recert = w.node.FakeRecert() })
	require.NoError(t, w.Live(nil))
	w.requireVerdict("new")
	require.GreaterOrEqual(t, *runs, 8)
	require.Equal(t, 2, w.node.Describe().Boots, "it does not reboot in vain")
	require.Empty(t, w.progress().Cause, "no rollback was begun that could not be done")
	require.Contains(t, heard.String(), "stateroot rhcos is no longer there: there is nothing to go back to")
}

// TestNetworkManagerDiesWhileItIsAsked lets its every single answer fail, once and for good.
func TestNetworkManagerDiesWhileItIsAsked(t *testing.T) {
	for _, withoutRollback := range []bool{false, true} {
		for at := 1; ; at++ {
			w := newWorld(t)
			met := 0
			w.arrival = func(w *world) {
				w.node.FailWhen(func(op hosttest.Op, _ int) error {
					if !strings.HasPrefix(op.Name, "network.") || op.Name == "network.close" {
						return nil
					}
					if met++; met == at || withoutRollback && met > at {
						return errors.New("NetworkManager is gone")
					}
					return nil
				})
			}
			w.power = func() error { w.node.Disarm(); return nil }
			require.NoError(t, w.Live(nil))
			if met < at {
				require.Greater(t, at, 2)
				break
			}
			if want := map[bool]string{false: "new", true: "old"}[withoutRollback]; withoutRollback == (w.node.Describe().Booted == oldStateroot) {
				w.requireVerdict(want)
			} else {
				t.Fatalf("answer %d, for good: %v: %v", at, withoutRollback, w.node.Failures())
			}
			w.node.Disarm()
			require.NoError(t, w.Again())
		}
	}
}
