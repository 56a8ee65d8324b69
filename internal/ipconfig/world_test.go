package ipconfig_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow/flowtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
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
	forecaster ipconfig.Forecaster
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
	log     *slog.Logger
	// stop ends the verb that runs, as systemd does with a signal.
	stop context.CancelFunc
	// logs replace the node's; key is the secret that pre-pivot collects.
	logs host.Logs
	key  []byte
	// units replace the node's.
	units host.Units
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

func newWorld(t *testing.T) *world {
	w := &world{t: t, log: flow.Discard(), clock: &fakeTime{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}}
	w.node = hosttest.NewNode(hosttest.Options{
		Stateroot: oldStateroot, Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.10/24")},
		Gateways: []netip.Addr{netip.MustParseAddr("192.0.2.1")}, DNS: []netip.Addr{netip.MustParseAddr("192.0.2.1")},
	})
	w.recert = w.node.FakeRecert()
	w.node.Serve(registry, nil)
	w.probes = []lcav1.Probe{{Name: "registry", Type: lcav1.ProbeTCP, Target: registry}}
	verb := func(words string, run func(*ipconfig.Operation, context.Context) error) {
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
			return run(op, ctx)
		})
	}
	verb("ip-config pre-pivot", (*ipconfig.Operation).PrePivot)
	verb("ip-config post-pivot", (*ipconfig.Operation).PostPivot)
	verb("ip-config rollback", func(o *ipconfig.Operation, ctx context.Context) error {
		return o.RollBack(ctx, oldStateroot, ipconfig.CauseRequested)
	})
	verb("ip-config cleanup", (*ipconfig.Operation).CleanUp)
	w.node.Command("lca-cli init-monitor", func(ctx context.Context, _ []string) error { return w.watch(ctx) })
	return w
}

func (w *world) ports() ipconfig.Node {
	n := w.node
	logs := w.logs
	if logs == nil {
		logs = n.Logs()
	}
	units := w.units
	if units == nil {
		units = n.Units()
	}
	return ipconfig.Node{
		Forecaster: w.forecaster,
		Files:      split{n.Files(), w.apart}, Trees: n.Trees(), Deployments: n.Deployments(), Units: units, Masks: n.RuntimeMasks(),
		Foreign: n.ForeignUnits(), Power: fused{n.Power(), w}, Network: n.Network(), Switch: n.Switch(), Prober: n.Prober(),
		Resolver: n.Resolver(), Containers: n.Containers(), Recert: w.recert, RecertImages: n.RecertImages(), Logs: logs, Cluster: api{w},
		Clock: w.clock, Log: w.log,
	}
}

func (w *world) open(ctx context.Context) (*ipconfig.Operation, error) {
	op, err := ipconfig.OpenOperation(ctx, w.ports(), ipconfig.Instruments{})
	if err == nil {
		op.Wrap = w.bomb.In
		if w.wrap != nil {
			op.Wrap = w.wrap
		}
	}
	return op, err
}

// api is the node's API server.
type api struct{ w *world }

func (a api) Inputs(context.Context, string) (ipconfig.Inputs, error) {
	if err := a.w.node.ClusterUp(); err != nil {
		return ipconfig.Inputs{}, err
	}
	d := a.w.node.Describe()
	return ipconfig.Inputs{
		InstallConfig: "apiVersion: v1", IngressCN: "ingress-operator@1", PullSecret: []byte(plantedPullSecret),
		Crypto:        map[string][]byte{"loadbalancer-serving-signer.key": append([]byte(plantedKey), a.w.key...)},
		NodeAddresses: []netip.Addr{netip.MustParseAddr(d.Stateroots[d.Booted].Keystore[0])},
	}, nil
}

func (a api) Facts(context.Context) (ipconfig.Facts, error) {
	return ipconfig.Facts{}, a.w.node.ClusterUp()
}

func (a api) Ready(context.Context) error {
	if a.w.noAPI != nil {
		return a.w.noAPI()
	}
	return a.w.node.ClusterUp()
}

func (a api) NodeReady(ctx context.Context, boot string) error {
	if a.w.notReady != nil {
		return a.w.notReady()
	}
	if id, err := a.w.node.Power().BootID(ctx); err != nil || id != boot {
		return fmt.Errorf("asked for boot %q, this is %q: %w", boot, id, err)
	}
	return a.w.node.ClusterUp()
}

// frozen is a clock on which nobody gets through a sleep: who would wait is told so.
type frozen struct{ *fakeTime }

func (frozen) Sleep(context.Context, time.Duration) error { return errors.New("there is time left") }

// watch is one look of the watchdog at the clock.
func (w *world) watch(ctx context.Context) error {
	if !w.watched {
		return nil
	}
	op, err := w.open(ctx)
	if err != nil || !op.InNewStateroot() {
		return err
	}
	p, err := ipconfig.ReadProgress(w.node.Files(), op.Request.OperationID)
	if err != nil {
		return err
	}
	m := ipconfig.Monitor{Node: op.Node, Request: op.Request, Auto: op.Auto, Deadline: p.Deadline}
	m.Node.Clock = frozen{w.clock}
	cause, err := m.Watch(ctx)
	switch {
	case err != nil:
		return hosttest.ErrStays
	case cause == "":
		return nil
	}
	return op.RollBack(ctx, "", cause)
}

// ask does what the operator does when stage Config is accepted.
func (w *world) ask(ctx context.Context, to, from site) error {
	if err := w.request(ctx, to, from); err != nil {
		return err
	}
	return w.launch(ctx, host.UnitPrePivot, "ip-config", "pre-pivot")
}

// request writes the files of an operation.
func (w *world) request(ctx context.Context, to, from site) error {
	all, err := w.node.Deployments().List(ctx)
	if err != nil {
		return err
	}
	booted, err := host.Booted(all)
	if err != nil {
		return err
	}
	w.ops++
	spec := lcav1.IPConfigSpec{
		IPv4:       &lcav1.IPv4Config{Address: to.address, MachineNetwork: to.network, Gateway: to.gateway},
		DNSServers: []string{cmp.Or(w.dns, to.dns)}, Probes: w.probes,
	}
	now := ipconfig.Current{IPv4: &lcav1.IPStatus{Address: from.address, MachineNetwork: from.network, Gateway: from.gateway}}
	id := ipconfig.NewOperationID(w.clock.now.Add(time.Duration(w.ops)*time.Hour), uint16(w.ops))
	req := ipconfig.BuildRequest(id, booted.Stateroot, spec, now)
	auto := ipconfig.AutoRollbackFor(&lcav1.IPConfig{ObjectMeta: metav1.ObjectMeta{Annotations: w.annotations}, Spec: spec})
	return ipconfig.WriteRequest(w.node.Files(), req, w.post, auto)
}

func (w *world) launch(ctx context.Context, unit string, words ...string) error {
	_ = w.node.Transients().Forget(ctx, unit)
	return w.node.Transients().Launch(ctx, host.Transient{Unit: unit, Argv: append([]string{host.CLI}, words...), Restart: true})
}

// operator does, on a node that came to rest, what the operator does: it goes on with an
// unfinished pre-pivot, and asks for what the user wants next. It says whether it did anything.
func (w *world) operator(ctx context.Context) (bool, error) {
	op, err := w.open(ctx)
	if errors.Is(err, ipconfig.ErrNoRequest) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	progress, err := ipconfig.ReadProgress(w.node.Files(), op.Request.OperationID)
	if err != nil {
		return false, err
	}
	switch {
	case progress.Cleanup.Running():
		return true, w.launch(ctx, host.UnitCleanup, "ip-config", "cleanup")
	case op.InNewStateroot() && progress.Rollback.Running():
		return true, w.launch(ctx, host.UnitRollback, "ip-config", "rollback")
	case !op.InNewStateroot() && progress.PrePivot.Running() && !progress.PrePivot.Committed:
		return true, w.launch(ctx, host.UnitPrePivot, "ip-config", "pre-pivot")
	case op.InNewStateroot() && progress.PostPivot.Finished && w.then != nil:
		then := w.then
		w.then = nil
		return true, then(w)
	}
	return false, nil
}

// Live implements flowtest.World.
func (w *world) Live(bomb *flowtest.Bomb) error {
	ctx := context.Background()
	w.bomb = bomb
	if bomb != nil {
		w.arm(bomb)
	}
	if err := w.node.Run(ctx, func(ctx context.Context) error { return w.ask(ctx, newSite, oldSite) }); err != nil {
		return err
	}
	return w.rest(ctx)
}

// arm makes the bomb cut the power, or kill lca-cli alone.
func (w *world) arm(bomb *flowtest.Bomb) {
	bomb.Kill = func() { w.node.Cut(); panic(hosttest.PowerCut) }
	arm := w.node.CrashAt
	if w.killOnly {
		bomb.Kill = func() { panic(hosttest.Killed) }
		arm = w.node.KillAt
	}
	bomb.ArmInside = func(n int) func() {
		arm(n)
		return w.node.Disarm
	}
}

// rest lets node and operator go on until neither has anything to do.
func (w *world) rest(ctx context.Context) error {
	for range 20 {
		if err := w.node.Settle(ctx, maxBoots); err != nil {
			return err
		}
		busy := false
		err := w.node.Run(ctx, func(ctx context.Context) (err error) {
			busy, err = w.operator(ctx)
			return err
		})
		if err != nil && !errors.Is(err, hosttest.PowerCut) && !errors.Is(err, hosttest.Rebooted) {
			return err
		}
		if !busy && err == nil {
			return w.node.Settle(ctx, maxBoots)
		}
	}
	return errors.New("node and operator go round in circles")
}

// Judge implements flowtest.World.
func (w *world) Judge() (string, error) {
	d := w.node.Describe()
	if d.Default != d.Booted {
		return "", fmt.Errorf("%s runs but %s boots next", d.Booted, d.Default)
	}
	if err := w.node.ClusterUp(); err != nil {
		return "", fmt.Errorf("the cluster in %s is down: %w", d.Booted, err)
	}
	verdict, want := "old", oldSite
	if d.Booted != oldStateroot {
		verdict, want = "new", newSite
	}
	state := d.Stateroots[d.Booted]
	for what, have := range map[string][]string{"profiles": state.Profiles, "keystore": state.Keystore, "dnsmasq": {state.DNSName}} {
		for _, a := range have {
			if prefix, err := netip.ParsePrefix(a); err == nil {
				a = prefix.Addr().String()
			}
			if a != want.address {
				return "", fmt.Errorf("%s of the %s stateroot %s: have %v, want %s", what, verdict, d.Booted, have, want.address)
			}
		}
	}
	if !slices.Contains(state.Enabled, host.UnitKubelet) {
		return "", fmt.Errorf("kubelet would not start at the next boot of %s", d.Booted)
	}
	return verdict, nil
}

// Again implements flowtest.World: clean up and change once more, to a third site.
func (w *world) Again() error {
	ctx := context.Background()
	w.bomb, w.then = nil, nil
	verdict, err := w.Judge()
	if err != nil {
		return err
	}
	from := oldSite
	if verdict == "new" {
		from = newSite
	}
	for _, what := range []func(context.Context) error{
		func(ctx context.Context) error { return w.launch(ctx, host.UnitCleanup, "ip-config", "cleanup") },
		func(ctx context.Context) error { return w.ask(ctx, farSite, from) },
	} {
		if err := w.node.Run(ctx, what); err != nil {
			return err
		}
		if err := w.rest(ctx); err != nil {
			return err
		}
	}
	d := w.node.Describe()
	if err := w.node.ClusterUp(); err != nil {
		return err
	}
	if got := d.Stateroots[d.Booted].Keystore; len(got) != 1 || got[0] != farSite.address {
		return fmt.Errorf("changed once more, the cluster in %s is at %v; failures: %v", d.Booted, got, w.node.Failures())
	}
	return nil
}

func plansOf(t *testing.T) []flow.Plan {
	o := ipconfig.Request{OperationID: "x", NewStateroot: "n", OldStateroot: "o"}
	plans := []flow.Plan{
		(&ipconfig.PrePivot{Request: o}).Plan(), (&ipconfig.PostPivot{Request: o}).Plan(), (&ipconfig.Rollback{Request: o}).Plan(),
	}
	for _, p := range plans {
		require.NoError(t, p.Validate())
	}
	return plans
}
