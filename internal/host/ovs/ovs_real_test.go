package ovs_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nmtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/ovs"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// database is a real ovsdb-server on a socket of its own; without ovs-vswitchd it touches no network.
type database struct {
	t      *testing.T
	socket string
}

func newDatabase(t *testing.T) *database {
	t.Helper()
	schema, err := nmtest.File("/usr/share/openvswitch/vswitch.ovsschema")
	if err != nil {
		t.Skipf("reason: Open vSwitch is missing: %v (or `apt-get install --no-install-recommends openvswitch-switch`)", err)
	}
	dir := t.TempDir()
	d := &database{t: t, socket: filepath.Join(dir, "db.sock")}
	d.run("ovsdb-tool", "create", filepath.Join(dir, "conf.db"), schema)
	cmd, err := nmtest.Command(t.Context(), "ovsdb-server", "--remote=punix:"+d.socket,
		"--unixctl="+filepath.Join(dir, "ctl"), "--log-file="+os.DevNull, filepath.Join(dir, "conf.db"))
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended by itself
		_ = cmd.Wait()
	})
	require.Eventually(t, func() bool { _, err := os.Stat(d.socket); return err == nil }, time.Minute, 10*time.Millisecond)
	d.vsctl("init")
	return d
}

func (d *database) vsctl(args ...string) {
	d.t.Helper()
	d.run("ovs-vsctl", append([]string{"--db=unix:" + d.socket, "--no-wait"}, args...)...)
}

func (d *database) run(name string, args ...string) {
	d.t.Helper()
	cmd, err := nmtest.Command(d.t.Context(), name, args...)
	require.NoError(d.t, err)
	out, err := cmd.CombinedOutput()
	require.NoError(d.t, err, "%s: %s", name, out)
}

func TestRealDatabase(t *testing.T) {
	d := newDatabase(t)
	s := ovs.New(d.socket)
	all, err := s.Interfaces(t.Context())
	require.NoError(t, err)
	require.Empty(t, all)

	d.vsctl("add-br", "br-ex")
	_, err = s.Uplink(t.Context(), "br-ex")
	require.ErrorContains(t, err, "no system interface")

	// As OVN-Kubernetes leaves it: the uplink, a patch port to br-int, the internal port.
	d.vsctl("add-port", "br-ex", "eno1.100", "--", "add-br", "br-int",
		"--", "add-port", "br-ex", "patch-br-ex_node-to-br-int", "--", "set", "Interface", "patch-br-ex_node-to-br-int", "type=patch", "options:peer=x",
		"--", "add-port", "br-int", "ovn-k8s-mp0", "--", "set", "Interface", "ovn-k8s-mp0", "type=internal",
		"--", "add-port", "br-int", "ovn-abc-0", "--", "set", "Interface", "ovn-abc-0", "type=geneve")
	uplink, err := s.Uplink(t.Context(), "br-ex")
	require.NoError(t, err)
	require.Equal(t, "eno1.100", uplink)
	_, err = s.Uplink(t.Context(), "br-none")
	require.ErrorContains(t, err, "no such bridge")

	all, err = s.Interfaces(t.Context())
	require.NoError(t, err)
	doc := netstate.Document{Interfaces: all}
	br, ok := doc.Find("br-ex", netstate.TypeOVSBridge)
	require.True(t, ok)
	require.Equal(t, []netstate.BridgePort{{Name: "br-ex"}, {Name: "eno1.100"}, {Name: "patch-br-ex_node-to-br-int"}}, br.Bridge.Ports)
	require.True(t, br.Bridge.AllowExtraPatchPorts)
	for _, name := range []string{"br-ex", "ovn-k8s-mp0"} {
		_, ok = doc.Find(name, netstate.TypeOVSInterface)
		require.True(t, ok, name)
	}

	d.vsctl("add-port", "br-ex", "eno2")
	_, err = s.Uplink(t.Context(), "br-ex")
	require.ErrorContains(t, err, "eno1.100, eno2")
}

func TestRealBondHasNoSingleUplink(t *testing.T) {
	d := newDatabase(t)
	d.vsctl("add-br", "br-ex", "--", "add-bond", "br-ex", "bond0", "eno1", "eno2")
	_, err := ovs.New(d.socket).Uplink(t.Context(), "br-ex")
	require.ErrorContains(t, err, "eno1, eno2")
}

// The free-form columns of a bond and of the kernel's links are observed, without NetworkManager's own notes.
func TestColumnsOfABondAndItsCards(t *testing.T) {
	d := newDatabase(t)
	d.vsctl("add-br", "br-ex", "--", "add-bond", "br-ex", "bond0", "eno1", "eno2",
		"--", "set", "Port", "bond0", "external_ids:rack=six", "external_ids:NM.connection.uuid=u", "other_config:bond-miimon-interval=100",
		"--", "set", "Interface", "eno1", "other_config:emc-insert-inv-prob=90")
	all, err := ovs.New(d.socket).Interfaces(t.Context())
	require.NoError(t, err)
	doc := netstate.Document{Interfaces: all}
	br, _ := doc.Find("br-ex", netstate.TypeOVSBridge)
	require.Equal(t, &netstate.OVSDB{
		ExternalIDs: map[string]*string{"rack": new("six")}, OtherConfig: map[string]*string{"bond-miimon-interval": new("100")},
	}, br.Bridge.Ports[0].Bond.OVSDB)
	card, ok := doc.Find("eno1", "")
	require.True(t, ok)
	require.Empty(t, card.Type, "what it is the kernel says")
	require.Equal(t, &netstate.OVSDB{OtherConfig: map[string]*string{"emc-insert-inv-prob": new("90")}}, card.OVSDB)
	_, ok = doc.Find("eno2", "")
	require.False(t, ok)
}

func TestTheNodesRowIsMerged(t *testing.T) {
	d := newDatabase(t)
	s := ovs.New(d.socket)
	d.vsctl("set", "Open_vSwitch", ".", "external_ids:system-id=node", "external_ids:old=1", "external_ids:ovn-bridge-mappings=former:br-ex,stays:br-int")
	want := &netstate.OVSDB{
		ExternalIDs: map[string]*string{"rack": new("seven"), "old": nil}, OtherConfig: map[string]*string{"stats-update-interval": new("10000")},
	}
	mappings := &netstate.OVN{BridgeMappings: []netstate.BridgeMapping{
		{Localnet: "former", State: netstate.StateAbsent}, {Localnet: "physnet", Bridge: "br-phys"},
	}}
	for range 2 { // it may be repeated
		require.NoError(t, s.Configure(t.Context(), want, mappings))
		columns, ovn, err := s.Settings(t.Context())
		require.NoError(t, err)
		require.Equal(t, map[string]*string{"system-id": new("node"), "rack": new("seven")}, columns.ExternalIDs)
		require.Equal(t, map[string]*string{"stats-update-interval": new("10000")}, columns.OtherConfig)
		require.Equal(t, []netstate.BridgeMapping{{Localnet: "physnet", Bridge: "br-phys"}, {Localnet: "stays", Bridge: "br-int"}}, ovn.BridgeMappings)
	}
	require.NoError(t, s.Configure(t.Context(), nil, &netstate.OVN{BridgeMappings: []netstate.BridgeMapping{
		{Localnet: "physnet", State: netstate.StateAbsent}, {Localnet: "stays", State: netstate.StateAbsent},
	}}))
	_, ovn, err := s.Settings(t.Context())
	require.NoError(t, err)
	require.Nil(t, ovn)
}

func TestTheDatabaseIsWatched(t *testing.T) {
	d := newDatabase(t)
	ctx, cancel := context.WithCancel(t.Context())
	changes, ended := make(chan struct{}, 64), make(chan error, 1)
	go func() { ended <- ovs.New(d.socket).Watch(ctx, func() { changes <- struct{}{} }) }()
	// The monitor may start after the first of these: each is another value.
	seen := func(n int, args ...string) bool {
		d.vsctl(append(args, fmt.Sprint("external_ids:count=", n))...)
		select {
		case <-changes:
			return true
		case <-time.After(100 * time.Millisecond):
			return false
		}
	}
	n := 0
	require.Eventually(t, func() bool { n++; return seen(n, "set", "Open_vSwitch", ".") }, time.Minute, 10*time.Millisecond)
	d.vsctl("add-br", "br-phys")
	<-changes
	cancel()
	require.NoError(t, <-ended)
}
