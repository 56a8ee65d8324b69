//go:build lab

package scenario

import (
	"context"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/lab/drive"
	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
	"github.com/lifecycle-agent/lifecycle-agent/lab/network"
	"github.com/lifecycle-agent/lifecycle-agent/lab/stick"
)

var (
	home = netip.MustParseAddr("192.0.2.10")
	away = netip.MustParseAddr("198.51.100.20")
)

const (
	homeNetwork = "192.0.2.0/24"
	awayNetwork = "198.51.100.0/24"
)

// patience bounds a scenario that runs beside others; emulation is more than ten times slower.
var patience = map[machine.Kind]time.Duration{machine.Nspawn: 12 * time.Minute, machine.QEMU: 30 * time.Minute}

// root is the top of the tree, where the Makefile runs. A test's working directory is that of its package.
func root(t *testing.T) string {
	here, err := os.Getwd()
	require.NoError(t, err)
	return filepath.Join(here, "..", "..")
}

func kind() machine.Kind {
	if k := os.Getenv("LCA_LAB_MACHINE"); k != "" {
		return machine.Kind(k)
	}
	return machine.Nspawn
}

// node makes a fresh node named for the test and takes it down when the test has ended.
func node(t *testing.T, name string) (context.Context, *lab.Lab, *drive.Driver) {
	t.Helper()
	return nodeAt(t, name, nil, home, away)
}

// nodeAt is node for another site (nil for the usual one) and other addresses at which the node may be.
func nodeAt(t *testing.T, name string, site *cluster.Site, addresses ...netip.Addr) (context.Context, *lab.Lab, *drive.Driver) {
	t.Helper()
	ctx := begin(t)
	l := boot(ctx, t, name, site)
	t.Cleanup(func() { takeDown(t, l) })
	return ctx, l, driver(ctx, t, l, addresses...)
}

// sticks is held by the scenario that plugs any in: all nodes of the machine see its loop devices.
var sticks sync.Mutex

// nodeWithSticks is node for a scenario that plugs sticks in, or that waits for its site without one. No other one plugs any in
// meanwhile.
func nodeWithSticks(t *testing.T, name string) (context.Context, *lab.Lab) {
	t.Helper()
	tool(t, "systemd-nspawn")
	for _, program := range stick.Programs() {
		tool(t, program)
	}
	parallel(t)
	sticks.Lock()
	t.Cleanup(sticks.Unlock)
	ctx := bounded(t)
	l := boot(ctx, t, name, nil)
	t.Cleanup(func() { takeDown(t, l) })
	driver(ctx, t, l, home, away)
	return ctx, l
}

// begin lets the scenario run beside others, and bounds its time from then on.
func begin(t *testing.T) context.Context {
	t.Helper()
	parallel(t)
	return bounded(t)
}

// parallel lets the scenario run beside others, as many as go test's -parallel allows.
func parallel(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("reason: a lab node needs root (sudo -E make test-lab)")
	}
	t.Parallel()
}

// bounded bounds the scenario's time.
func bounded(t *testing.T) context.Context {
	t.Helper()
	t.Attr("uses", "lab node")
	ctx, cancel := context.WithTimeout(context.Background(), patience[kind()])
	t.Cleanup(cancel)
	return ctx
}

// boot makes a fresh node.
func boot(ctx context.Context, t *testing.T, name string, site *cluster.Site) *lab.Lab {
	t.Helper()
	return bootWith(ctx, t, name, lab.Tools{Site: site})
}

// bootWith is boot for a node that is not like the others.
func bootWith(ctx context.Context, t *testing.T, name string, tools lab.Tools) *lab.Lab {
	t.Helper()
	top := root(t)
	bin := filepath.Join(top, "build", "bin")
	labProgram := filepath.Join(bin, "lab")
	if _, err := os.Stat(labProgram); err != nil {
		t.Skip("reason: the programs are not built (make build controlplane)")
	}
	labs := filepath.Join(top, "build", "lab")
	tools.Root, tools.Binaries, tools.Supervise = labs, bin, []string{labProgram, "supervise", "--root", labs, "--name"}
	tools.Agent = cluster.Agent(os.Getenv("LCA_LAB_AGENT"))
	if old, err := lab.Open(tools, name); err == nil {
		require.NoError(t, old.Down(ctx, false))
	}
	l, err := lab.Up(ctx, tools, name, kind(), cluster.Provision, func(n, of int, text string) { t.Logf("[%d/%d] %s", n, of, text) })
	if err != nil && l != nil {
		takeDown(t, l)
	}
	require.NoError(t, err)
	return l
}

// driver is the administrator of a node that may be at these addresses, once the IPConfig is Idle.
func driver(ctx context.Context, t *testing.T, l *lab.Lab, addresses ...netip.Addr) *drive.Driver {
	t.Helper()
	d, err := drive.New(l, func(s string) { t.Log(s) }, addresses...)
	require.NoError(t, err)
	_, err = d.Until(ctx, "condition Idle", drive.Is(lcav1.ConditionIdle))
	require.NoError(t, err)
	return d
}

func takeDown(t *testing.T, l *lab.Lab) {
	if t.Failed() {
		t.Logf("the node's last words:\n%s", l.LastWords(context.Background()))
	}
	if err := l.Down(context.Background(), false); err != nil {
		t.Logf("take the node down: %v", err)
	}
}

// move is a request for the second site.
func move() map[string]any {
	site := network.Away()
	return map[string]any{"spec": map[string]any{
		"stage": lcav1.StageConfig,
		"ipv4": map[string]any{
			"address": away.String(), "machineNetwork": awayNetwork, "gateway": site.Gateway.Addr().String(),
		},
		"dnsServers": []string{site.DNS.Addr().String()},
	}}
}

// in runs a program in the node.
func in(ctx context.Context, t *testing.T, l *lab.Lab, argv ...string) string {
	t.Helper()
	out, err := machine.Output(ctx, l.Machine, argv...)
	require.NoError(t, err)
	return out
}

// tool fails with what to install where a program of the host is missing.
func tool(t *testing.T, name string) {
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("reason: %s is missing on this machine (make host-packages)", name)
	}
}
