package change_test

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow/flowtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

const (
	oldStateroot = "rhcos"
	registry     = "registry.example.com:5000"
	maxBoots     = 12
)

// site is an address plan.
type site struct{ address, network, gateway, dns string }

var (
	oldSite = site{"192.0.2.10", "192.0.2.0/24", "192.0.2.1", "192.0.2.1"}
	newSite = site{"198.51.100.20", "198.51.100.0/24", "198.51.100.1", "198.51.100.1"}
	farSite = site{"203.0.113.30", "203.0.113.0/24", "203.0.113.1", "203.0.113.1"}
)

// fakeTime passes at once when somebody sleeps.
type fakeTime struct {
	now time.Time
	// slept is told the time after each sleep; nil for nobody.
	slept func(time.Time)
}

func (c *fakeTime) Now() time.Time { return c.now }

func (c *fakeTime) Sleep(ctx context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	if c.slept != nil {
		c.slept(c.now)
	}
	return ctx.Err()
}

// world is the fake node with lca-cli installed on it.
type world struct {
	t          *testing.T
	node       *hosttest.Node
	clock      *fakeTime
	bomb       *flowtest.Bomb
	ops        int
	forecaster change.Forecaster
	// edit changes the spec of every request; nil leaves it.
	edit func(*lcav1.IPConfigSpec)
	// second is the node's address of the other family; zero for none.
	second netip.Addr
	// probes are in every request.
	probes []lcav1.Probe
	// then is what the user asks for when post-pivot is through; nil: nothing.
	then   func(*world) error
	recert host.Recert
	// killOnly: bombs kill the program and leave the node running.
	killOnly bool
	// post is written beside the request; apart lists folders that are file systems of their own.
	post  ipconfig.PostPivotConfig
	apart []string
	// arrival happens once in the new stateroot, before post-pivot runs for the first time.
	arrival func(*world)
	// wrap changes plans; power is asked before each reboot and can refuse it.
	wrap  func(flow.Plan) flow.Plan
	power func() error
	// noAPI and notReady are why API server and kubelet do not answer, where that is not the node's own doing.
	noAPI, notReady func() error
	// annotations are those of the request.
	annotations map[string]string
	// dns is the DNS server asked for, where it is not the site's.
	dns string
	// watched has the watchdog look at each start of its unit, and at each Tick.
	watched bool
	// monitor is the watchdog of this boot.
	monitor *change.Monitor
	log     *slog.Logger
	// stop ends the verb that runs, as systemd does with a signal.
	stop context.CancelFunc
	// logs replace the node's; key is the secret that pre-pivot collects.
	logs host.Logs
	key  []byte
	// units replace the node's.
	units host.Units
	// asCommand: verbs end with the exit code of lca-cli, so that systemd does not repeat what is final.
	asCommand bool
}

// fused is a node's power with a fuse.
type fused struct {
	host.Power
	w *world
}

func (f fused) Reboot(ctx context.Context, reason string) error {
	if f.w.power != nil {
		if err := f.w.power(); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return f.Power.Reboot(ctx, reason)
}

func newWorld(t *testing.T) *world { return newWorldAt(t, "192.0.2.10/24", "192.0.2.1") }

// newWorldAt is a world whose node was installed with an address on its card, and a gateway that is also the DNS server.
func newWorldAt(t *testing.T, card, gateway string) *world {
	w := &world{t: t, log: slog.New(slog.DiscardHandler), clock: &fakeTime{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}}
	w.node = hosttest.NewNode(hosttest.Options{
		Stateroot: oldStateroot, Addresses: []netip.Prefix{netip.MustParsePrefix(card)},
		Gateways: []netip.Addr{netip.MustParseAddr(gateway)}, DNS: []netip.Addr{netip.MustParseAddr(gateway)},
	})
	w.node.BootsOnce(true)
	w.recert = w.node.FakeRecert()
	w.node.Serve(registry, nil)
	w.probes = []lcav1.Probe{{Name: "registry", Type: lcav1.ProbeTCP, Target: registry}}
	verb := func(words string, run func(*change.Operation, context.Context) error) {
		w.node.Command("lca-cli "+words, func(ctx context.Context, _ []string) error {
			if happens := w.arrival; happens != nil && words == "ip-config post-pivot" {
				w.arrival = nil
				happens(w)
			}
			ctx, w.stop = context.WithCancel(ctx)
			defer w.stop()
			op, err := w.open(ctx)
			if err != nil {
				return err
			}
			return w.exit(run(op, ctx))
		})
	}
	verb("ip-config pre-pivot", (*change.Operation).PrePivot)
	verb("ip-config post-pivot", (*change.Operation).PostPivot)
	verb("ip-config rollback", func(o *change.Operation, ctx context.Context) error {
		return o.RollBack(ctx, oldStateroot, ipconfig.CauseRequested)
	})
	verb("ip-config cleanup", (*change.Operation).CleanUp)
	w.node.Command("lca-cli init-monitor", func(ctx context.Context, _ []string) error { return w.watch(ctx) })
	return w
}

func (w *world) ports() change.Ports {
	n := w.node
	logs := w.logs
	if logs == nil {
		logs = n.Logs()
	}
	units := w.units
	if units == nil {
		units = n.Units()
	}
	ports := n.Ports()
	ports.Files, ports.Units, ports.Logs, ports.Recert = split{n.Files(), w.apart}, units, logs, w.recert
	ports.Power = fused{n.Power(), w}
	return change.Ports{Node: ports, Forecaster: w.forecaster, Cluster: api{w}, Clock: w.clock, Log: w.log}
}

func (w *world) open(ctx context.Context) (*change.Operation, error) {
	op, err := change.OpenOperation(ctx, w.ports(), operation.Instruments{})
	if err == nil {
		op.Wrap = w.bomb.In
		if w.wrap != nil {
			op.Wrap = w.wrap
		}
	}
	return op, err
}

// exit is how lca-cli ends with that error.
func (w *world) exit(err error) error {
	switch {
	case !w.asCommand:
		return err
	case errors.Is(err, flow.ErrLeaving):
		return nil
	case err != nil && (errors.Is(err, operation.ErrRefused) || flow.EndingOf(err).Final()):
		return &hosttest.Exit{Code: host.FinalExit, Err: err}
	}
	return err
}
