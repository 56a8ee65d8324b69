package hosttest_test

import (
	"context"
	"errors"
	"net/netip"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Units of a flow, as a domain would name them.
const (
	unitFinish = "finish-flow.service"
	unitWatch  = "watch-flow.service"
)

func TestAFullDiskIsAnError(t *testing.T) {
	n := hosttest.NewNode(hosttest.Options{})
	n.SetFree(10)
	require.ErrorContains(t, n.Files().Write("/etc/large", []byte("more than ten bytes"), 0o600), "no space left")
	_, err := n.Trees().Mirror(context.Background(), host.CopyRequest{From: "/var/lib", To: host.InVar("new", "/var/lib")})
	require.ErrorContains(t, err, "no space left")
}

func TestSettleFindsBootLoops(t *testing.T) {
	ctx := context.Background()
	n := hosttest.NewNode(hosttest.Options{})
	n.Program(host.UnitKubelet, func(ctx context.Context) error { return n.Power().Reboot(ctx, "again") })
	require.NoError(t, n.Run(ctx, func(ctx context.Context) error { return n.Files().Write("/etc/x", nil, 0o600) }))
	n.Cut()
	require.ErrorIs(t, n.Settle(ctx, 4), hosttest.ErrBootLoop)
}

func TestUnitsRestartUnlessTheExitIsFinal(t *testing.T) {
	ctx := context.Background()
	n := hosttest.NewNode(hosttest.Options{})
	unit := path.Join(host.UnitDir, unitFinish)
	require.NoError(t, n.Seed(unit, []byte("[Unit]\nConditionPathExists=/var/lib/lca/go\n"+post[len("[Unit]\n"):])))
	require.NoError(t, n.Units().Enable(ctx, unitFinish))
	var calls int
	n.Program(unitFinish, func(context.Context) error {
		if calls++; calls < 3 {
			return errors.New("not yet")
		}
		return &hosttest.Exit{Code: host.FinalExit, Err: errors.New("never")}
	})
	require.NoError(t, n.Boot(ctx))
	require.Zero(t, calls, "the condition keeps it from starting")
	require.NoError(t, n.Seed("/var/lib/lca/go", nil))
	require.NoError(t, n.Boot(ctx))
	require.NoError(t, n.Settle(ctx, 0))
	require.Equal(t, 3, calls)
	state, err := n.Units().State(ctx, unitFinish)
	require.NoError(t, err)
	require.Equal(t, host.FinalExit, state.ExitCode)
	log, err := n.Logs().Unit(ctx, unitFinish, 10)
	require.NoError(t, err)
	require.Equal(t, 3, strings.Count(string(log), "\n"))
}

func TestAStartThatWouldWaitForItsCallerIsAnError(t *testing.T) {
	ctx := context.Background()
	n := hosttest.NewNode(hosttest.Options{})
	unit := path.Join(host.UnitDir, unitFinish)
	require.NoError(t, n.Seed(unit, []byte("[Unit]\nBefore=kubelet.service\n[Service]\nType=oneshot\n[Install]\nWantedBy=multi-user.target\n")))
	require.NoError(t, n.Units().Stop(ctx, host.UnitKubelet))
	n.Program(unitFinish, func(ctx context.Context) error {
		require.ErrorContains(t, n.ClusterUp(), "ordered after")
		return n.Units().Start(ctx, host.UnitKubelet)
	})
	require.ErrorIs(t, n.Units().Start(ctx, unitFinish), hosttest.ErrDeadlock)
}

func TestTickGivesWatchdogsATurn(t *testing.T) {
	ctx := context.Background()
	n := hosttest.NewNode(hosttest.Options{})
	require.NoError(t, n.Seed(path.Join(host.UnitDir, unitWatch), []byte("[Service]\nType=exec\n[Install]\nWantedBy=multi-user.target\n")))
	now, deadline := time.Unix(0, 0), time.Unix(100, 0)
	n.Every(unitWatch, func(ctx context.Context) error {
		if now.Before(deadline) {
			return hosttest.ErrStays
		}
		return n.Power().Reboot(ctx, "too late")
	})
	require.NoError(t, n.Tick(ctx), "it does not run yet")
	require.NoError(t, n.Units().Start(ctx, unitWatch))
	require.NoError(t, n.Tick(ctx))
	now = deadline
	require.ErrorIs(t, n.Tick(ctx), hosttest.Rebooted)
	require.NoError(t, n.Settle(ctx, 1))
}

func TestProbesFollowTheNetwork(t *testing.T) {
	ctx := context.Background()
	gw, dns, far := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.53"), netip.MustParseAddr("203.0.113.53")
	n := hosttest.NewNode(hosttest.Options{})
	p := n.Prober()
	for _, iface := range []string{"enp1s0", host.BridgeExternal} {
		require.NoError(t, p.Gateway(ctx, gw, iface))
	}
	require.NoError(t, p.DNS(ctx, dns))
	require.NoError(t, p.DNS(ctx, far), "through the gateway")
	require.Error(t, p.Gateway(ctx, netip.MustParseAddr("198.51.100.1"), "enp1s0"))
	n.Silence(gw)
	require.Error(t, p.Gateway(ctx, gw, "enp1s0"))
	require.Error(t, p.DNS(ctx, far))
	n.Answer(gw)
	n.Place(100, gw)
	require.Error(t, p.Gateway(ctx, gw, "enp1s0"), "it is on another VLAN")
	n.Occupy(dns)
	claim, err := p.InUse(ctx, netip.PrefixFrom(dns, 24), "enp1s0")
	require.NoError(t, err)
	require.NotEmpty(t, claim.Hardware)
}

func TestSnapshotsTellWhatChanged(t *testing.T) {
	n := hosttest.NewNode(hosttest.Options{})
	before := n.Snapshot(true)
	require.NoError(t, n.Files().Write("/etc/new", nil, 0o600))
	require.NoError(t, n.Files().Write("/etc/hostname", []byte("other\n"), 0o644))
	require.NoError(t, n.Files().Remove("/etc/chrony.conf"))
	var diff []string
	for _, d := range before.Diff(n.Snapshot(true)) {
		diff = append(diff, d[:2]+path.Base(d))
	}
	require.Equal(t, []string{"- chrony.conf", "~ hostname", "+ new"}, diff)
}

func TestDualStackNodes(t *testing.T) {
	n := hosttest.NewNode(hosttest.Options{
		Addresses: []netip.Prefix{netip.MustParsePrefix("2001:db8::10/64"), netip.MustParsePrefix("192.0.2.10/24")},
		Gateways:  []netip.Addr{netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("192.0.2.1")}, VLAN: 100,
	})
	require.NoError(t, n.ClusterUp())
	require.Equal(t, []string{"2001:db8::10", "192.0.2.10"}, n.Describe().Running)
	primary, err := n.Files().Read(host.PrimaryIP)
	require.NoError(t, err)
	require.Equal(t, "2001:db8::10", string(primary))
	up, err := n.Switch().Uplink(context.Background(), host.BridgeExternal)
	require.NoError(t, err)
	require.Equal(t, "enp1s0.100", up)
}

// What documents say besides interfaces and addresses is observed after it was applied, and after a reboot.
func TestTheNetworkHasWhatADocumentSaysBesidesInterfaces(t *testing.T) {
	n := hosttest.NewNode(hosttest.Options{})
	want, err := netstate.Decode([]byte(`
hostname: {running: node-7, config: node-7}
ovs-db: {external_ids: {rack: seven}, other_config: {a: b}}
ovn: {bridge-mappings: [{localnet: physnet, bridge: br-phys}]}
dns-resolver: {config: {options: [rotate]}}
routes:
  config:
  - {destination: 198.51.100.0/24, next-hop-interface: br-ex, next-hop-address: 192.0.2.9, source: 192.0.2.10, cwnd: 20, weight: 3}
  - {destination: 198.18.0.0/15, route-type: blackhole}
`))
	require.NoError(t, err)
	differ := func() []string {
		got, err := n.Network().Observe(t.Context())
		require.NoError(t, err)
		return netstate.Verify(want, got)
	}
	require.NoError(t, n.Boot(t.Context()))
	before, err := n.Network().Observe(t.Context())
	require.NoError(t, err)
	require.Len(t, differ(), 8)
	require.Error(t, n.Network().Apply(t.Context(), want, func(context.Context) error { return errors.New("no") }))
	require.Len(t, differ(), 8, "the former network is back")
	require.NoError(t, n.Network().Apply(t.Context(), want, nil))
	require.Empty(t, differ())
	require.NoError(t, n.Boot(t.Context()))
	require.Empty(t, differ())
	before.Hostname = &netstate.Hostname{Running: new("node-1")} // the simulated network knows the names that documents gave it
	require.NoError(t, n.Network().Apply(t.Context(), netstate.Revert(want, before), nil))
	require.Len(t, differ(), 8)
}
