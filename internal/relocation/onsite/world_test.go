package onsite_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow/flowtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation/operationtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/factory"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/onsite"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/reconcile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

const (
	factoryStateroot = "rhcos"
	maxBoots         = 12
	siteAddress      = "198.51.100.20"
	factoryAddress   = "192.0.2.10"
)

const siteYAML = `apiVersion: relocation.lca.openshift.io/v1
kind: SiteConfig
metadata: {name: store-42}
clusterName: store42
baseDomain: edge.example.org
hostname: store42
machineNetworks: [%[1]s.0/24]
network:
  interfaces:
  - name: enp1s0
    type: ethernet
    state: up
    ipv4:
      enabled: true
      dhcp: false
      address: [{ip: %[1]s.20, prefix-length: 24}]
  routes:
    config:
    - {destination: 0.0.0.0/0, next-hop-address: %[1]s.1, next-hop-interface: enp1s0}
dnsServers: [%[1]s.1]
`

// world is a node that was prepared in a factory and is switched on at its site.
type world struct {
	t     *testing.T
	node  *hosttest.Node
	clock *operationtest.Clock
	bomb  *flowtest.Bomb
	kill  bool
	ops   int
	// stick holds the configuration; empty while nothing is delivered. again: a person asks for it once more.
	stick string
	again bool
	// sick is why the cluster is not healthy on site.
	sick error
	// answers is what the cluster says to a part, by the number of times that it was asked before; nil is well.
	answers func(part string, before int) (attention string, err error)
	// healths counts how often its health was asked for.
	healths int
	// asks lists the parts that were applied, names what DNS servers were asked for.
	asks, names []string
	// applied is the configuration that each part was last asked to bring about.
	applied map[string]siteconfig.SiteConfig
	// internal is the known address of the preparation; withdrawn are those that the flow took from the links.
	internal  netip.Prefix
	withdrawn []string
	// asCommand: verbs end with the exit code of lca-cli, so that systemd does not repeat what is final.
	asCommand bool
	// certificates are the cluster's.
	certificates []relocation.Certificate
	// damage is what the request holds when the unit starts again after the bomb has gone off; nil for what it held before.
	damage []byte
}

// damageRequest damages the request once, where there is one.
func (w *world) damageRequest() error {
	if _, err := w.node.Files().Stat(relocation.RequestFile); err != nil || w.damage == nil || w.bomb == nil || !w.bomb.Spent() {
		return nil
	}
	damage := w.damage
	w.damage = nil
	return w.node.Seed(relocation.RequestFile, damage)
}

// withdraw notes the address, and whether the cluster is held still.
func (w *world) withdraw(_ context.Context, address netip.Prefix) error {
	_, err := w.node.Files().Stat(relocation.HoldFile)
	w.withdrawn = append(w.withdrawn, fmt.Sprintf("%s held=%t", address, err == nil))
	return nil
}

func newWorld(t *testing.T, kill bool) *world {
	w := &world{t: t, kill: kill, applied: map[string]siteconfig.SiteConfig{}, clock: &operationtest.Clock{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Least: 20 * time.Second}}
	w.node = hosttest.NewNode(hosttest.Options{
		Stateroot: factoryStateroot, Addresses: []netip.Prefix{netip.MustParsePrefix(factoryAddress + "/24")},
		Gateways: []netip.Addr{netip.MustParseAddr("192.0.2.1")}, DNS: []netip.Addr{netip.MustParseAddr("192.0.2.1")},
	})
	w.node.Command("lca-cli relocation prepare", func(ctx context.Context, _ []string) error {
		return w.runPreparation(ctx)
	})
	w.node.Command("lca-cli relocation reconfigure", func(ctx context.Context, _ []string) error {
		if err := w.damageRequest(); err != nil {
			return err
		}
		err := w.service().Run(ctx)
		if errors.Is(err, errNothing) {
			return hosttest.ErrStays
		}
		return w.exit(err)
	})
	w.node.Command("lca-cli relocation rollback", func(ctx context.Context, _ []string) error {
		return w.exit(w.service().RollBack(ctx, func(context.Context) (func(), error) { return func() {}, nil }))
	})
	w.node.Command("lca-cli relocation cancel", func(ctx context.Context, _ []string) error {
		return factory.Cancellation{Ports: w.factory(), Wrap: w.bomb.In}.Run(ctx)
	})
	for _, stays := range []string{"monitor", "serve"} {
		w.node.Command("lca-cli relocation "+stays, func(context.Context, []string) error { return hosttest.ErrStays })
	}
	return w
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

// runPreparation is the unit of the preparation, with the bomb in its plan.
func (w *world) runPreparation(ctx context.Context) error {
	kind := factory.Kind(w.factory())
	kind.Wrap = w.bomb.In
	return kind.Run(ctx, w.factory().Machine(), operation.Instruments{})
}

func (w *world) id() string {
	w.ops++
	return operation.NewID(w.clock.Time.Add(time.Duration(w.ops)*time.Hour), uint16(w.ops))
}

func (w *world) factory() factory.Ports {
	return factory.Ports{Node: w.node.Ports(), Cluster: api{w}, Clock: w.clock, Log: slog.New(slog.DiscardHandler)}
}

func (w *world) service() *onsite.Service {
	ports := w.node.Ports()
	ports.Prober = asking{ports.Prober, w}
	return &onsite.Service{Wrap: w.bomb.In, Ports: onsite.Ports{
		Node: ports, Cluster: api{w}, Inbox: inbox{w}, Clock: w.clock, Log: slog.New(slog.DiscardHandler), NewID: w.id,
		Withdraw: w.withdraw,
		Password: func() (string, string, error) { return "planted-password", "$2a$10$hash", nil },
	}}
}

// asking notes the names that DNS servers are asked for.
type asking struct {
	host.Prober
	w *world
}

func (a asking) DNS(ctx context.Context, server netip.Addr, names ...string) error {
	a.w.names = append(a.w.names, names...)
	return a.Prober.DNS(ctx, server, names...)
}

// errNothing ends the wait of a test for a configuration that never comes.
var errNothing = errors.New("nothing was delivered")

type inbox struct{ w *world }

func (i inbox) Next(ctx context.Context) (onsite.Delivery, error) {
	last, _ := relocation.ReadLast(i.w.node.Files())
	idle := last.Outcome == relocation.OutcomeReturned || last.Outcome == relocation.OutcomeRefused
	if i.w.stick == "" || idle && last.Attempts > 0 && !i.w.again && last.Digest == digest(i.w.stick) ||
		last.Attempts > 2 && !i.w.again && last.Digest == digest(i.w.stick) {
		return onsite.Delivery{}, errNothing
	}
	again := i.w.again
	i.w.again = false
	return onsite.Delivery{Data: []byte(i.w.stick), Source: "volume", Again: again}, ctx.Err()
}

// api is the node's API server.
type api struct{ w *world }

func (a api) Facts(context.Context) (relocation.Facts, error) {
	return relocation.Facts{Node: "factory-node", ClusterName: "factory", BaseDomain: "example.com", ControlPlaneNodes: 1,
		Addresses: []netip.Addr{netip.MustParseAddr(factoryAddress)}, MachineNetworks: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")},
	}, a.w.node.ClusterUp()
}

func (a api) Certificates(context.Context) ([]relocation.Certificate, error) {
	return a.w.certificates, a.w.node.ClusterUp()
}

func (a api) Healthy(context.Context) error {
	if err := a.w.node.ClusterUp(); err != nil {
		return err
	}
	if d := a.w.node.Describe(); d.Booted != factoryStateroot {
		a.w.healths++
		return a.w.sick
	}
	return nil
}

func (a api) Ready(context.Context) error             { return a.w.node.ClusterUp() }
func (a api) NodeReady(context.Context, string) error { return a.w.node.ClusterUp() }

func (a api) Apply(_ context.Context, part string, c siteconfig.SiteConfig) (string, error) {
	before := 0
	for _, p := range a.w.asks {
		if p == part {
			before++
		}
	}
	a.w.asks = append(a.w.asks, part)
	a.w.applied[part] = c
	if a.w.answers != nil {
		if attention, err := a.w.answers(part, before); attention != "" || err != nil {
			return attention, err
		}
	}
	return "", a.w.node.ClusterUp()
}

// prepare does what the factory does, and ships the node: it is switched off.
func (w *world) prepare() error {
	ctx := context.Background()
	for range 4 {
		if _, err := relocation.ReadRecord(w.node.Files()); err == nil && w.node.Describe().Default != factoryStateroot {
			break
		}
		err := w.node.Run(ctx, func(ctx context.Context) error {
			if _, err := factory.Prepare(ctx, w.factory(), w.id(), factory.Wanted{Watchdog: time.Hour, ShelfDays: 30, Internal: w.internal}); err != nil {
				return err
			}
			_ = w.node.Transients().Forget(ctx, relocation.UnitPrepare)
			return w.node.Transients().Launch(ctx, host.Transient{Unit: relocation.UnitPrepare, Restart: true,
				Argv: []string{host.CLI, "relocation", "prepare"}})
		})
		if err != nil && !errors.Is(err, hosttest.PowerCut) {
			return err
		}
		if err := w.node.Settle(ctx, maxBoots); err != nil {
			return err
		}
	}
	return nil
}

// Live implements flowtest.World: the node is prepared, and switched on at its site, where a stick waits.
func (w *world) Live(bomb *flowtest.Bomb) error {
	w.bomb = bomb
	operationtest.Arm(bomb, w.node, w.kill)
	if err := w.prepare(); err != nil {
		return err
	}
	w.stick = fmt.Sprintf(siteYAML, "198.51.100")
	return w.switchOn()
}

func (w *world) switchOn() error {
	w.node.Cut()
	return w.node.Settle(context.Background(), maxBoots)
}

// Judge implements flowtest.World: the node is at home on its site, or waits in the factory state for another
// configuration.
func (w *world) Judge() (string, error) {
	d := w.node.Describe()
	if d.Booted != d.Default {
		return "", fmt.Errorf("%s runs but %s boots next", d.Booted, d.Default)
	}
	state := d.Stateroots[d.Booted]
	if d.Booted == factoryStateroot {
		if !slices.Contains(state.Enabled, relocation.UnitReconfigure) {
			return "", errors.New("the factory state does not wait for a configuration")
		}
		if got := state.Keystore; len(got) != 1 || got[0] != factoryAddress {
			return "", fmt.Errorf("the factory's cluster is at %v", got)
		}
		last, err := relocation.ReadLast(w.node.Files())
		w.t.Logf("in the factory state after step %s: %s", last.Step, last.Cause)
		return "factory", err
	}
	if err := w.node.ClusterUp(); err != nil {
		return "", fmt.Errorf("the cluster in %s is down: %w; failures: %v", d.Booted, err, w.node.Failures())
	}
	for what, have := range map[string][]string{"keystore": state.Keystore, "dnsmasq": {state.DNSName}, "running": d.Running} {
		if len(have) != 1 || have[0] != w.wants() {
			return "", fmt.Errorf("%s of %s: have %v, want %s", what, d.Booted, have, w.wants())
		}
	}
	return "home", w.over(state)
}

func (w *world) wants() string {
	for _, a := range []string{siteAddress, "203.0.113.20"} {
		if w.stick == fmt.Sprintf(siteYAML, a[:len(a)-3]) {
			return a
		}
	}
	return ""
}

// over says whether everything of a reconfiguration has come to its end.
func (w *world) over(state hosttest.StaterootState) error {
	for _, unit := range []string{relocation.UnitReconfigure, relocation.UnitMonitor, relocation.UnitPage} {
		if slices.Contains(state.Enabled, unit) {
			return fmt.Errorf("%s is still enabled though the node is at home", unit)
		}
	}
	if !slices.Contains(state.Enabled, host.UnitKubelet) {
		return errors.New("kubelet would not start at the next boot")
	}
	for _, file := range []string{relocation.SiteConfigFile, host.RecertConfig, relocation.PasswordFile, relocation.RequestFile} {
		if _, err := w.node.Files().Stat(file); err == nil {
			return fmt.Errorf("%s is left over", file)
		}
	}
	return nil
}

// Again implements flowtest.World: back to the factory state, and to another site.
func (w *world) Again() error {
	w.bomb = nil
	ctx := context.Background()
	if w.node.Describe().Booted != factoryStateroot {
		err := w.node.Run(ctx, func(ctx context.Context) error {
			return w.service().AskBack(ctx, onsite.CauseRequested)
		})
		if err != nil {
			return err
		}
		w.stick = ""
		if err := w.node.Settle(ctx, maxBoots); err != nil {
			return err
		}
		if verdict, err := w.Judge(); err != nil || verdict != "factory" {
			return fmt.Errorf("after a rollback the node is %s: %w", verdict, err)
		}
	}
	w.stick = fmt.Sprintf(siteYAML, "203.0.113")
	if err := w.switchOn(); err != nil {
		return err
	}
	verdict, err := w.Judge()
	if err != nil || verdict != "home" {
		return fmt.Errorf("at another site the node is %s: %w; failures: %v", verdict, err, w.node.Failures())
	}
	return nil
}

func plans() []flow.Plan {
	r := relocation.Request{OperationID: "x", Factory: "o", Site: "n"}
	return []flow.Plan{
		factory.Plan(factory.Ports{}, relocation.Record{OperationID: "x", Factory: "o", Site: "n"}),
		(&onsite.Reconfiguration{Request: r}).Plan(),
	}
}

func TestTheNodeIsAtHomeOnItsSiteAndCanMoveOn(t *testing.T) {
	w := newWorld(t, false)
	require.NoError(t, w.Live(nil))
	require.Empty(t, w.node.Failures())
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "home", verdict)
	name, err := w.node.Hostname().Hostname(t.Context())
	require.NoError(t, err)
	require.Equal(t, "store42", name)
	require.Len(t, w.asks, len(reconcile.Parts()), "every part once")
	require.Contains(t, w.names, "api.store42.edge.example.org", "the site's own DNS server may know no other name")

	h, err := onsite.TakeHandover(w.node.Files())
	require.NoError(t, err)
	require.Equal(t, "planted-password", h.Password)
	require.Equal(t, "https://api.store42.edge.example.org:6443", h.API)
	_, err = onsite.TakeHandover(w.node.Files())
	require.ErrorIs(t, err, operation.ErrRefused, "it is read once")
	require.NoError(t, w.Again())
}
