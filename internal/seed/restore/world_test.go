package restore_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow/flowtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation/operationtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/onsite"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/restore"
)

const (
	oldStateroot = "rhcos"
	oldAddress   = "198.51.100.10"
	maxBoots     = 12
	// Secrets of the site, by which they are found wherever they are.
	plantedPull     = "cGxhbnRlZDpwbGFudGVkLXB1bGwtc2VjcmV0"
	plantedRegistry = "cGxhbnRlZDpwbGFudGVkLXJlZ2lzdHJ5LXNlY3JldA=="
	plantedPassword = "planted-password"
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
sshKeys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGJv3Xu1yJq6D4Jzc2vBzC5Ch4UeYAsTqz8Qm0eTqv1l admin@example.org"]
pullSecret: '{"auths":{"registry.example.com":{"auth":"` + plantedPull + `"}}}'
`

func siteFor(network string) string { return fmt.Sprintf(siteYAML, network) }

// world is a node with a cluster of its own, onto which an image is restored.
type world struct {
	// clusterIDs are those that the cluster was given, drawn counts those that were made.
	clusterIDs []string
	drawn      int
	t          *testing.T
	node       *hosttest.Node
	registry   *hosttest.Registry
	clock      *operationtest.Clock
	bomb       *flowtest.Bomb
	kill       bool
	ops        int
	network    string
	// sick is why the restored cluster is not healthy.
	sick error
	// cutBack: a power cut may have come between the flip back and the wiping of the stateroot that is left.
	cutBack bool
}

func newWorld(t *testing.T, kill bool) *world {
	t.Helper()
	w := &world{t: t, kill: kill, registry: published(), network: "203.0.113", clock: &operationtest.Clock{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Least: 20 * time.Second}}
	w.node = hosttest.NewNode(hosttest.Options{
		Stateroot: oldStateroot, Commit: strings.Repeat("0ld0", 16), Addresses: []netip.Prefix{netip.MustParsePrefix(oldAddress + "/24")},
		Gateways: []netip.Addr{netip.MustParseAddr("198.51.100.1")}, DNS: []netip.Addr{netip.MustParseAddr("198.51.100.1")},
	})
	for file, text := range map[string]string{"/etc/machine-id": "mine", "/etc/ssh/ssh_host_rsa_key": "mine", "/var/lib/app/data": "mine"} {
		must(w.node.Seed(file, []byte(text)))
	}
	w.commands()
	return w
}

func (w *world) commands() {
	w.node.Command("lca-cli seed restore", func(ctx context.Context, _ []string) error {
		return restore.RunWrapped(ctx, w.ports(), operation.Instruments{}, w.bomb.In)
	})
	w.node.Command("lca-cli relocation reconfigure", func(ctx context.Context, _ []string) error { return w.service().Run(ctx) })
	w.node.Command("lca-cli seed rollback", func(ctx context.Context, _ []string) error {
		b, err := w.service().OpenBack(ctx, restore.CauseRequested)
		if err != nil {
			return err
		}
		return b.Run(ctx)
	})
	for _, stays := range []string{"monitor", "serve"} {
		w.node.Command("lca-cli relocation "+stays, func(context.Context, []string) error { return hosttest.ErrStays })
	}
}

func (w *world) id() string {
	w.ops++
	return operation.NewID(w.clock.Time.Add(time.Duration(w.ops)*time.Hour), uint16(w.ops))
}

func (w *world) ports() restore.Ports {
	return restore.Ports{
		Node: w.node.Ports(), Commits: w.node.Commits(), Archives: w.node.Archives(), Registries: w.node.Registries(w.registry),
		Cluster: target{}, Clock: w.clock, Log: slog.New(slog.DiscardHandler), NewID: w.id,
	}
}

// target is the API server of the cluster that is replaced.
type target struct{}

func (target) Target(context.Context) (restore.ClusterFacts, error) {
	return restore.ClusterFacts{Version: "4.19.1"}, nil
}

func (w *world) service() *onsite.Service {
	return &onsite.Service{Wrap: w.bomb.In, Ports: onsite.Ports{
		Node: w.node.Ports(), Cluster: api{w}, Inbox: noInbox{}, Clock: w.clock, Log: slog.New(slog.DiscardHandler), NewID: w.id,
		NewClusterID: func() string { w.drawn++; return fmt.Sprintf("11111111-2222-4333-8444-%012d", w.drawn) },
		Password:     func() (string, string, error) { return plantedPassword, "$2a$10$hash", nil },
	}}
}

// noInbox: a restored node waits for no configuration.
type noInbox struct{}

func (noInbox) Next(context.Context) (onsite.Delivery, error) {
	return onsite.Delivery{}, errors.New("a restored node waits for a configuration")
}

// api is the node's API server.
type api struct{ w *world }

func (a api) Healthy(context.Context) error {
	if err := a.w.node.ClusterUp(); err != nil {
		return err
	}
	return a.w.sick
}

func (a api) Ready(context.Context) error             { return a.w.node.ClusterUp() }
func (a api) NodeReady(context.Context, string) error { return a.w.node.ClusterUp() }

func (a api) Apply(_ context.Context, part string, c siteconfig.SiteConfig) (string, error) {
	if part == "cluster-id" && c.Identity != nil {
		a.w.clusterIDs = append(a.w.clusterIDs, c.Identity.ClusterID)
	}
	return "", a.w.node.ClusterUp()
}

func (w *world) ask() restore.Ask {
	return restore.Ask{Image: seedName, Site: []byte(siteFor(w.network)), Watchdog: time.Hour,
		Auth: []byte(`{"auths":{"registry.example.com":{"auth":"` + plantedRegistry + `"}}}`)}
}

// restore does what "lca-cli seed restore" does.
func (w *world) restore(ctx context.Context) error {
	if _, err := restore.Begin(ctx, w.ports(), w.ask()); err != nil {
		return err
	}
	return w.launch(ctx, seed.UnitRestore, "restore", "--run")
}

// stopAt begins a restore and kills its program before the step.
func (w *world) stopAt(step string) {
	w.t.Helper()
	w.bomb = &flowtest.Bomb{Crash: flowtest.Crash{Flow: seed.FlowRestore, Step: step, Where: flowtest.Before}, Kill: w.node.KillHere}
	err := w.node.Run(w.t.Context(), func(ctx context.Context) error {
		if _, err := restore.Begin(ctx, w.ports(), w.ask()); err != nil {
			return err
		}
		return restore.RunWrapped(ctx, w.ports(), operation.Instruments{}, w.bomb.In)
	})
	require.ErrorIs(w.t, err, hosttest.Killed)
	w.bomb = nil
}

// run and abort are the verbs, in the foreground.
func (w *world) run() error {
	return w.node.Run(w.t.Context(), func(ctx context.Context) error { return restore.Run(ctx, w.ports(), operation.Instruments{}) })
}

func (w *world) abort() error {
	return w.node.Run(w.t.Context(), func(ctx context.Context) error { return restore.Abort(ctx, w.ports(), operation.Instruments{}) })
}

func (w *world) request() restore.Request {
	w.t.Helper()
	r, found, err := restore.ReadRequest(w.node.Files())
	require.NoError(w.t, err)
	require.True(w.t, found)
	return r
}

func (w *world) launch(ctx context.Context, unit string, args ...string) error {
	_ = w.node.Transients().Forget(ctx, unit)
	return w.node.Transients().Launch(ctx, host.Transient{Unit: unit, Restart: true, Argv: append([]string{host.CLI, "seed"}, args...)})
}

func (w *world) do(program func(context.Context) error) error {
	ctx := context.Background()
	if err := w.node.Run(ctx, program); err != nil && !errors.Is(err, hosttest.PowerCut) {
		return err
	}
	return w.node.Settle(ctx, maxBoots)
}

// Live implements flowtest.World.
func (w *world) Live(bomb *flowtest.Bomb) error {
	w.bomb = bomb
	operationtest.Arm(bomb, w.node, w.kill)
	return w.do(w.restore)
}

// TakeWayOut implements flowtest.Person: a restore that boots next is removed.
func (w *world) TakeWayOut() error {
	if _, found, err := restore.ReadRequest(w.node.Files()); err != nil || !found {
		return err
	}
	return w.abort()
}

// Judge implements flowtest.World: the cluster of before runs and nothing of the restore is left, or the restored one runs.
func (w *world) Judge() (string, error) {
	d := w.node.Describe()
	if d.Booted != d.Default {
		return "", fmt.Errorf("%s runs but %s boots next", d.Booted, d.Default)
	}
	if err := w.node.ClusterUp(); err != nil {
		return "", fmt.Errorf("the cluster in %s is down: %w; failures: %v", d.Booted, err, w.node.Failures())
	}
	if d.Booted == oldStateroot {
		return "old", w.judgeOld(d)
	}
	return "restored", w.judgeRestored(d)
}

func (w *world) judgeOld(d hosttest.Description) error {
	if !slices.Equal(d.Running, []string{oldAddress}) {
		return fmt.Errorf("the old cluster is at %v", d.Running)
	}
	if data, err := w.node.Files().Read("/var/lib/app/data"); err != nil || string(data) != "mine" {
		return fmt.Errorf("the old cluster's data is %q: %w", data, err)
	}
	if _, err := w.node.Files().Stat(seed.RestoreDir); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the request is left behind: %w", err)
	}
	state := d.Stateroots[oldStateroot]
	if slices.Contains(state.Enabled, seed.UnitRestoreUndo) || !slices.Contains(state.Enabled, host.UnitKubelet) {
		return fmt.Errorf("the next boot starts %v", state.Enabled)
	}
	last, err := relocation.ReadLast(w.node.Files())
	if len(d.Stateroots) > 1 && last.Outcome != relocation.OutcomeReturned {
		return fmt.Errorf("stateroots are left behind though nothing was booted: %v, %w", d.Stateroots, err)
	}
	return w.secretsAreOnlyIn()
}

func (w *world) judgeRestored(d hosttest.Description) error {
	state, address := d.Stateroots[d.Booted], w.network+".20"
	for what, have := range map[string][]string{"keystore": state.Keystore, "dnsmasq": {state.DNSName}, "running": d.Running} {
		if len(have) != 1 || have[0] != address {
			return fmt.Errorf("%s of %s: have %v, want %s", what, d.Booted, have, address)
		}
	}
	for _, unit := range []string{relocation.UnitReconfigure, relocation.UnitMonitor, relocation.UnitPage} {
		if slices.Contains(state.Enabled, unit) {
			return fmt.Errorf("%s is still enabled", unit)
		}
	}
	if !slices.Contains(state.Enabled, host.UnitKubelet) {
		return errors.New("kubelet would not start at the next boot")
	}
	if !d.Stateroots[oldStateroot].Deployed {
		return errors.New("there is no way back")
	}
	return w.secretsAreOnlyIn(relocation.HandoverFile)
}

// secretsAreOnlyIn looks for the site's secrets on the whole disk.
func (w *world) secretsAreOnlyIn(allowed ...string) error {
	for p, content := range w.node.Snapshot(true) {
		if slices.ContainsFunc(allowed, func(file string) bool { return strings.HasSuffix(p, file) }) {
			continue
		}
		for _, secret := range []string{plantedPull, plantedRegistry, plantedPassword} {
			left := w.cutBack && strings.Contains(p, relocation.StaterootPrefix)
			if strings.Contains(content, secret) && !left {
				return fmt.Errorf("%s has a secret of the site: %s", p, secret)
			}
		}
	}
	return nil
}

// Again implements flowtest.World: back to the old cluster, and a restore for another site.
func (w *world) Again() error {
	w.bomb = nil
	if w.node.Describe().Booted != oldStateroot {
		err := w.do(func(ctx context.Context) error { return w.launch(ctx, relocation.UnitRollback, "rollback") })
		if err != nil {
			return err
		}
		if verdict, err := w.Judge(); err != nil || verdict != "old" {
			return fmt.Errorf("after a rollback the node is %s: %w; failures: %v", verdict, err, w.node.Failures())
		}
	}
	w.network = "192.0.2"
	if err := w.do(w.restore); err != nil {
		return err
	}
	if verdict, err := w.Judge(); err != nil || verdict != "restored" {
		return fmt.Errorf("a second restore leaves the node %s: %w; failures: %v", verdict, err, w.node.Failures())
	}
	return nil
}
