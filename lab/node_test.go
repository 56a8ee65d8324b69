package lab_test

import (
	"context"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
	"github.com/lifecycle-agent/lifecycle-agent/lab/network"
)

const (
	root = "../build/lab" // the image cache is shared with everyday labs
	name = "selftest"
)

// TestMain doubles as the supervisor of the container that the test starts: the test binary is started again for it.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "supervise" {
		supervise()
	}
	os.Exit(m.Run())
}

func supervise() {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	l, err := lab.Open(lab.Tools{Root: root}, name)
	if err == nil {
		err = l.Machine.(machine.Container).Supervise(context.Background(), log)
	}
	if err != nil {
		log.Error("supervise", "error", err)
		os.Exit(1)
	}
	os.Exit(0)
}

var home = netip.MustParseAddr("192.0.2.10")

// TestNode walks a node without a cluster through everything that the scenarios of the product rest on.
func TestNode(t *testing.T) {
	if os.Getenv("LCA_LAB") == "" {
		t.Skip("reason: boots a real node; set LCA_LAB=1 (and LCA_LAB_MACHINE=qemu for the virtual machine), as root")
	}
	if os.Geteuid() != 0 {
		t.Skip("reason: needs root for network namespaces, mounts and a container")
	}
	n := up(t)
	t.Run("without kubelet the uplink keeps its address", func(t *testing.T) {
		require.Equal(t, "rhcos", n.state(t).Stateroot)
		require.Contains(t, n.out(t, "ip", "-br", "address"), "uplink0")
		require.NotContains(t, n.out(t, "ip", "-br", "address"), "br-ex")
		require.NoError(t, n.lab.Net.Ping(t.Context(), home))
	})
	t.Run("kubelet's dependencies build br-ex", n.buildsBridge)
	t.Run("building it again changes nothing", func(t *testing.T) {
		before := n.out(t, "cat", "/sys/class/net/br-ex/ifindex")
		n.rebuild(t)
		require.Equal(t, before, n.out(t, "cat", "/sys/class/net/br-ex/ifindex"))
	})
	t.Run("a changed profile rebuilds it", n.followsProfile)
	t.Run("the LAN can be broken and mended", n.losesGateway)
	t.Run("another stateroot boots after set-default", n.switchesStateroot)
	t.Run("a power cut ends in a clean boot", n.survivesPowerCut)
	t.Run("it powers off in good order and on again", n.powersOff)
}

// node is the lab under test.
type node struct{ lab *lab.Lab }

func up(t *testing.T) node {
	kind := machine.Nspawn
	if text := os.Getenv("LCA_LAB_MACHINE"); text != "" {
		kind = machine.Kind(text)
	}
	self, err := os.Executable()
	require.NoError(t, err)
	tools := lab.Tools{Root: root, Supervise: []string{self, "supervise"}}
	if old, err := lab.Open(tools, name); err == nil {
		require.NoError(t, old.Down(t.Context(), false), "remove what an interrupted run has left")
	}
	t.Cleanup(func() {
		l, err := lab.Open(tools, name)
		if err != nil {
			return
		}
		if t.Failed() {
			console, _ := os.ReadFile(l.Machine.ConsoleLog())
			t.Logf("end of the console:\n%s", console[max(0, len(console)-4000):])
		}
		require.NoError(t, l.Down(context.Background(), false))
		require.NoFileExists(t, filepath.Join("/run/netns", l.Net.LAN()))
		require.NoDirExists(t, l.Dir)
	})
	l, err := lab.Up(t.Context(), tools, name, kind, nil, func(_, _ int, text string) { t.Log(text) })
	require.NoError(t, err)
	return node{l}
}

func (n node) out(t *testing.T, argv ...string) string {
	t.Helper()
	text, err := machine.Output(t.Context(), n.lab.Machine, argv...)
	require.NoError(t, err)
	return text
}

func (n node) state(t *testing.T) machine.State {
	t.Helper()
	state, err := n.lab.Machine.State(t.Context())
	require.NoError(t, err)
	return state
}

// nextBoot waits until the node is ready in another boot than the given one.
func (n node) nextBoot(t *testing.T, old string) machine.State {
	t.Helper()
	deadline := time.Now().Add(10 * time.Minute)
	for time.Now().Before(deadline) {
		if state := n.state(t); state.BootID != "" && state.BootID != old {
			require.NoError(t, n.lab.Ready(t.Context()))
			return n.state(t)
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("the node did not boot again")
	return machine.State{}
}

func (n node) buildsBridge(t *testing.T) {
	n.out(t, "systemctl", "start", "kubelet-dependencies.target")
	require.Contains(t, n.out(t, "ip", "-br", "address", "show", "br-ex"), "192.0.2.10/24")
	require.NotContains(t, n.out(t, "ip", "-br", "address", "show", "uplink0"), "192.0.2.10/24")
	require.Contains(t, n.out(t, "ip", "route", "show", "default"), "via 192.0.2.1 dev br-ex proto static metric 48")
	require.Equal(t, network.UplinkMAC, n.out(t, "cat", "/sys/class/net/br-ex/address"))
	require.Equal(t, "192.0.2.10", n.out(t, "cat", "/run/nodeip-configuration/primary-ip"))
	require.Equal(t, "uplink0.nmconnection", n.out(t, "ls", "/etc/NetworkManager/system-connections"), "br-ex is in memory only")
	require.NoError(t, n.lab.Net.Ping(t.Context(), home))
	require.Contains(t, n.out(t, "getent", "ahostsv4", "registry.lab.example"), "198.51.100.1")
}

// rebuild runs both services once more, one after the other: in one request the second would interrupt the first.
func (n node) rebuild(t *testing.T) {
	t.Helper()
	n.out(t, "systemctl", "restart", "ovs-configuration.service")
	n.out(t, "systemctl", "restart", "nodeip-configuration.service")
}

func (n node) followsProfile(t *testing.T) {
	const profile = "/etc/NetworkManager/system-connections/uplink0.nmconnection"
	n.out(t, "sed", "-i.bak", "s/192.0.2/198.51.100/g", profile)
	n.rebuild(t)
	require.Contains(t, n.out(t, "ip", "-br", "address", "show", "br-ex"), "198.51.100.10/24")
	require.Equal(t, "198.51.100.10", n.out(t, "cat", "/run/nodeip-configuration/primary-ip"))
	require.NoError(t, n.lab.Net.Ping(t.Context(), netip.MustParseAddr("198.51.100.10")))
	require.Error(t, n.lab.Net.Ping(t.Context(), home))
	n.out(t, "mv", profile+".bak", profile)
	n.rebuild(t)
	require.NoError(t, n.lab.Net.Ping(t.Context(), home))
}

func (n node) losesGateway(t *testing.T) {
	ping := func() int {
		result, err := n.lab.Machine.Exec(t.Context(), machine.Command{Argv: []string{"ping", "-c", "1", "-W", "2", "192.0.2.1"}})
		require.NoError(t, err)
		return result.ExitCode
	}
	gateway := network.Home().Gateway
	require.Zero(t, ping())
	require.NoError(t, n.lab.Net.Drop(t.Context(), gateway))
	require.NotZero(t, ping())
	require.NoError(t, n.lab.Net.Restore(t.Context(), gateway))
	require.Zero(t, ping())

	require.NoError(t, n.lab.Net.LinkDown(t.Context()))
	require.Error(t, n.lab.Net.Ping(t.Context(), home))
	require.NoError(t, n.lab.Net.LinkUp(t.Context()))
	require.Eventually(t, func() bool { return n.lab.Net.Ping(t.Context(), home) == nil }, time.Minute, 100*time.Millisecond)
}

func (n node) switchesStateroot(t *testing.T) {
	const script = `set -eu
commit=$(ostree admin status | awk '$1 == "*" { print $3 }')
ostree admin os-init other
ostree admin deploy --os other --retain --no-prune --not-as-default --karg-proc-cmdline "${commit%.*}"
unshare -m bash -euc 'mount -o remount,rw /sysroot
  cp -a /etc/. /ostree/deploy/other/deploy/*.0/etc/
  cp -a /var/. /ostree/deploy/other/var/'
ostree admin set-default 1
systemctl reboot --no-block`
	before := n.state(t)
	result, err := n.lab.Machine.Exec(t.Context(), machine.Command{Argv: []string{"bash", "-s"}, Stdin: strings.NewReader(script)})
	require.NoError(t, err)
	require.Zero(t, result.ExitCode, result.Stderr)
	after := n.nextBoot(t, before.BootID)
	require.Equal(t, "other", after.Stateroot)
	require.NotContains(t, n.out(t, "ip", "-br", "address"), "br-ex", "kubelet is not enabled")
	require.NoError(t, n.lab.Net.Ping(t.Context(), home))
}

func (n node) survivesPowerCut(t *testing.T) {
	before := n.state(t)
	n.out(t, "sh", "-c", "echo kept > /var/lib/before; sync")
	require.NoError(t, n.lab.Machine.PowerCut(t.Context()))
	require.False(t, n.state(t).On)
	_, err := n.lab.Machine.Exec(t.Context(), machine.Command{Argv: []string{"true"}})
	require.ErrorIs(t, err, machine.ErrOff)
	require.NoError(t, n.lab.Machine.Start(t.Context()))
	after := n.nextBoot(t, before.BootID)
	require.Equal(t, before.Stateroot, after.Stateroot)
	require.Equal(t, "kept", n.out(t, "cat", "/var/lib/before"))
	n.out(t, "systemctl", "start", "kubelet-dependencies.target")
}

func (n node) powersOff(t *testing.T) {
	before := n.state(t)
	require.NoError(t, n.lab.Machine.Stop(t.Context()))
	require.False(t, n.state(t).On)
	require.NoError(t, n.lab.Machine.Start(t.Context()))
	require.NotEqual(t, before.BootID, n.nextBoot(t, before.BootID).BootID)
}
