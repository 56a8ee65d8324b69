package hosttest_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

const post = "[Unit]\nAfter=NetworkManager.service\n[Service]\nType=oneshot\nExecStart=/usr/local/bin/lca-cli post\n" +
	"Restart=on-failure\nRestartPreventExitStatus=3\n[Install]\nWantedBy=multi-user.target\n"

// pivot is the smallest address change that is safe: everything is on disk before the
// flip, and the second half can be repeated. careless leaves the sync out.
type pivot struct {
	n        *hosttest.Node
	careless bool
}

func newPivot(o hosttest.Options) *pivot {
	p := &pivot{n: hosttest.NewNode(o)}
	p.n.Command("lca-cli pre", func(ctx context.Context, _ []string) error { return p.pre(ctx) })
	p.n.Command("lca-cli post", func(ctx context.Context, _ []string) error { return p.post(ctx) })
	return p
}

func (p *pivot) pre(ctx context.Context) error {
	n := p.n
	all, err := n.Deployments().List(ctx)
	if err != nil {
		return err
	}
	old, err := host.Booted(all)
	if err != nil {
		return err
	}
	d, err := n.Deployments().Clone(ctx, "new")
	if err != nil {
		return err
	}
	_, mirrorErr := n.Trees().Mirror(ctx, host.CopyRequest{From: "/var", To: host.InVar("new", "/var"), Live: true})
	err = errors.Join(mirrorErr, n.RuntimeMasks().Mask(ctx, host.UnitKubelet), n.Units().Stop(ctx, host.UnitKubelet),
		n.Containers().StopAll(ctx), n.Units().Stop(ctx, host.UnitCRIO))
	if err != nil {
		return err
	}
	for from, to := range map[string]string{"/var": host.InVar("new", "/var"), old.InDeployment("/etc"): d.InDeployment("/etc")} {
		if _, err := n.Trees().Mirror(ctx, host.CopyRequest{From: from, To: to}); err != nil {
			return err
		}
	}
	err = errors.Join(
		n.Files().Remove(d.InDeployment("/etc/openvswitch/conf.db")),
		n.Files().Write(d.InDeployment(path.Join(host.UnitDir, unitFinish)), []byte(post), 0o600),
		n.ForeignUnits().EnableIn(ctx, d.Dir(), unitFinish),
		n.ForeignUnits().DisableIn(ctx, d.Dir(), host.UnitKubelet),
		n.Files().Write(host.InVar("new", host.RecertConfig), []byte(`{"cn_san_replace_rules":["192.0.2.10,198.51.100.20"]}`), 0o600))
	if err == nil && !p.careless {
		err = n.Trees().Sync("/ostree")
	}
	return errors.Join(err, n.Deployments().SetDefault(ctx, "new"), n.Power().Reboot(ctx, "pivot"))
}

func (p *pivot) post(ctx context.Context) error {
	no := false
	err := p.n.Network().Apply(ctx, netstate.Document{
		Interfaces: []netstate.Interface{{Name: "enp1s0", Type: netstate.TypeEthernet, State: netstate.StateUp, IPv4: &netstate.IP{
			Enabled: new(true), DHCP: &no, Addresses: []netstate.Address{{IP: "198.51.100.20", PrefixLength: 24}},
		}}},
		Routes: &netstate.Routes{Config: []netstate.Route{
			{Destination: "0.0.0.0/0", NextHopInterface: "enp1s0", State: netstate.StateAbsent},
			{Destination: "0.0.0.0/0", NextHopInterface: "enp1s0", NextHopAddress: "198.51.100.1"},
		}},
	}, func(ctx context.Context) error {
		return p.n.Prober().Gateway(ctx, netip.MustParseAddr("198.51.100.1"), "enp1s0")
	})
	if err == nil {
		err = p.n.FakeRecert().Run(ctx, host.RecertConfig)
	}
	if err == nil {
		err = p.n.Units().Enable(ctx, host.UnitKubelet)
	}
	if err == nil {
		err = p.n.Units().Start(ctx, host.UnitKubelet)
	}
	if err == nil {
		err = p.n.Units().Disable(ctx, unitFinish)
	}
	return err
}

func (p *pivot) live(t *testing.T) {
	t.Helper()
	ctx := context.Background()
	err := p.n.Run(ctx, func(ctx context.Context) error {
		return p.n.Transients().Launch(ctx, host.Transient{Unit: "pre.service", Argv: []string{host.CLI, "pre"}})
	})
	if !errors.Is(err, hosttest.PowerCut) {
		require.NoError(t, err)
	}
	require.NoError(t, p.n.Settle(ctx, 5), "%v", p.n.Failures())
}

// verdict is "old" or "new" for a node that is wholly one of them, and what is wrong with any other.
func (p *pivot) verdict() string {
	d := p.n.Describe()
	want := map[string]string{"rhcos": "192.0.2.10", "new": "198.51.100.20"}[d.Booted]
	s := d.Stateroots[d.Booted]
	switch {
	case d.ClusterDown != "":
		return fmt.Sprintf("%s: %s %v", d.Booted, d.ClusterDown, p.n.Failures())
	case d.Default != d.Booted, strings.Join(d.Running, ",") != want, strings.Join(s.Profiles, ",") != want+"/24", strings.Join(s.Keystore, ",") != want:
		return fmt.Sprintf("%+v", d)
	case d.Booted == "new":
		return "new"
	}
	return "old"
}

func TestEveryPowerCutLeavesOldOrNew(t *testing.T) {
	for _, o := range []hosttest.Options{{}, {TornWrites: true}, {RebootGrace: 3}} {
		verdicts := map[string]int{}
		for at := 1; ; at++ {
			p := newPivot(o)
			p.n.CrashAt(at)
			p.live(t)
			v := p.verdict()
			require.Contains(t, []string{"old", "new"}, v, "power cut at change %d, near %v", at, nearest(p.n.Ops(), at))
			verdicts[v]++
			if p.n.Struck() == 0 {
				break // the whole change has fewer
			}
		}
		require.Greater(t, verdicts["old"], 40)
		require.Greater(t, verdicts["new"], 10)
	}
}

func nearest(ops []hosttest.Op, at int) []hosttest.Op {
	return ops[max(0, min(at-3, len(ops))):min(at+1, len(ops))]
}

func TestWithoutSyncAPowerCutAfterTheFlipIsSeen(t *testing.T) {
	for _, torn := range []bool{false, true} {
		p := newPivot(hosttest.Options{TornWrites: torn})
		p.careless = true
		p.n.CrashWhen(func(op hosttest.Op, _ int) bool { return op.Name == "power.reboot" })
		p.live(t)
		require.NotContains(t, []string{"old", "new"}, p.verdict())
	}
}

func TestDataCopiedWhileInUseIsSeen(t *testing.T) {
	ctx := context.Background()
	n := hosttest.NewNode(hosttest.Options{})
	_, err := n.Deployments().Clone(ctx, "new")
	require.NoError(t, err)
	_, err = n.Trees().Mirror(ctx, host.CopyRequest{From: "/var", To: host.InVar("new", "/var"), Live: true})
	require.NoError(t, err)
	require.Equal(t, hosttest.ErrHotCopy.Error(), n.Describe().Stateroots["new"].StoreError)
	require.NoError(t, n.Containers().StopAll(ctx))
	_, err = n.Trees().Mirror(ctx, host.CopyRequest{From: "/var", To: host.InVar("new", "/var")})
	require.NoError(t, err)
	require.Empty(t, n.Describe().Stateroots["new"].StoreError)
	require.Equal(t, []string{"192.0.2.10"}, n.Describe().Stateroots["new"].Keystore)
}

func TestAfterThePowerCutEveryCallPanics(t *testing.T) {
	n := hosttest.NewNode(hosttest.Options{})
	n.CrashAt(2)
	died := hosttest.Survive(func() {
		require.NoError(t, n.Files().Write("/etc/one", nil, 0o600))
		_ = n.Files().Write("/etc/two", nil, 0o600)
		t.Error("the second write returned")
	})
	require.True(t, died)
	for _, call := range []func(){
		func() { _, _ = n.Files().Read("/etc/one") },
		func() { _, _ = n.Deployments().List(context.Background()) },
		func() { _, _ = n.Units().State(context.Background(), host.UnitKubelet) },
	} {
		require.True(t, hosttest.Survive(call))
	}
	require.Equal(t, "192.0.2.10", n.Describe().Stateroots["rhcos"].Keystore[0], "it can be described without power")
	require.NoError(t, n.Boot(context.Background()))
	_, err := n.Files().Stat("/etc/one")
	require.NoError(t, err)
	_, err = n.Files().Stat("/etc/two")
	require.Error(t, err)
	require.NoError(t, n.ClusterUp())
}

func TestRebootEndsTheProgramAndItsWaiting(t *testing.T) {
	ctx := context.Background()
	n := hosttest.NewNode(hosttest.Options{})
	before, err := n.Power().BootID(ctx)
	require.NoError(t, err)
	require.NoError(t, n.RuntimeMasks().Mask(ctx, host.UnitKubelet))
	require.NoError(t, n.Files().Write("/run/volatile", nil, 0o600))
	err = n.Run(ctx, func(ctx context.Context) error {
		require.NoError(t, n.Power().Reboot(ctx, "test"))
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), hosttest.Rebooted)
		_ = n.Files().Write("/etc/late", nil, 0o600)
		t.Error("a program went on after the reboot")
		return nil
	})
	require.ErrorIs(t, err, hosttest.Rebooted)
	require.NoError(t, n.Settle(ctx, 1))
	after, err := n.Power().BootID(ctx)
	require.NoError(t, err)
	require.NotEqual(t, before, after)
	file, err := n.Files().Read(host.BootIDFile)
	require.NoError(t, err)
	require.Equal(t, after, strings.TrimSpace(string(file)))
	_, err = n.Files().Stat("/run/volatile")
	require.Error(t, err)
	require.NoError(t, n.ClusterUp(), "the mask went with the boot")
}

func TestAKilledProgramLeavesTheNodeRunning(t *testing.T) {
	ctx := context.Background()
	p := newPivot(hosttest.Options{})
	boot := p.n.Describe().Boots
	for at := 1; ; at++ {
		p.n.KillAt(at)
		err := p.n.Run(ctx, p.pre)
		require.Equal(t, boot, p.n.Describe().Boots)
		if p.n.Struck() < at {
			require.ErrorIs(t, err, hosttest.Rebooted)
			break
		}
		require.ErrorIs(t, err, hosttest.Killed)
	}
	require.Greater(t, p.n.Struck(), 5)
	p.n.Disarm()
	require.NoError(t, p.n.Settle(ctx, 2))
	require.Equal(t, "new", p.verdict())
}

func TestAKilledCallerLosesItsNetwork(t *testing.T) {
	ctx := context.Background()
	p := newPivot(hosttest.Options{})
	require.ErrorIs(t, p.n.Run(ctx, p.pre), hosttest.Rebooted)
	p.n.Program(unitFinish, func(context.Context) error { return nil })
	require.NoError(t, p.n.Settle(ctx, 2))
	for name, want := range map[string]string{"network.commit": "192.0.2.10", "network.save": "198.51.100.20"} {
		p.n.KillWhen(func(op hosttest.Op, _ int) bool { return op.Name == name })
		require.ErrorIs(t, p.n.Run(ctx, p.post), hosttest.Killed)
		require.NoError(t, p.n.Network().Recover(ctx))
		require.Equal(t, []string{want}, p.n.Describe().Running, name)
		require.Equal(t, []string{want + "/24"}, p.n.Describe().Stateroots["new"].Profiles, name)
		if name == "network.save" {
			return
		}
	}
}

func TestChangesCanFail(t *testing.T) {
	ctx := context.Background()
	p := newPivot(hosttest.Options{})
	broken := errors.New("input/output error")
	p.n.FailWhen(func(op hosttest.Op, _ int) error {
		if op.Name == "keystore.commit" {
			return broken
		}
		return nil
	})
	require.ErrorIs(t, p.n.Run(ctx, p.pre), hosttest.Rebooted)
	require.NoError(t, p.n.Settle(ctx, 3))
	require.ErrorIs(t, errors.Join(p.n.Failures()...), broken)
	state, err := p.n.Units().State(ctx, unitFinish)
	require.NoError(t, err)
	require.Equal(t, "failed", state.Active)
	require.Equal(t, "start-limit-hit", state.Result)
	p.n.Disarm()
	require.NoError(t, p.n.Units().Start(ctx, unitFinish))
	require.Equal(t, "new", p.verdict())
}
