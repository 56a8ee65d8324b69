package nm_test

import (
	"bufio"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nmtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/ovs"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// The node's profile as an installer wrote it: comments and all, which no rewrite by
// NetworkManager would keep.
const uplinkProfile = `# written by the installer
[connection]
id=uplink
uuid=5f6b8a5e-1c9e-4d3b-9a70-0c7d1a2b3c4d
type=ethernet
interface-name=uplink0

[ethernet]
wake-on-lan=64

[ipv4]
method=manual
address1=192.0.2.10/24,192.0.2.1
dns=192.0.2.53;192.0.2.54;

[ipv6]
method=manual
address1=2001:db8::10/64,2001:db8::1
`

// uplinkMAC is the address of the card, before and after a power cut.
const uplinkMAC = "02:00:00:00:00:10"

// testNode is a node with one uplink, up on its first address.
type testNode struct {
	*nmtest.Node
	t       *testing.T
	state   string
	keyfile string
	disk    nmtest.Disk
	lease   time.Duration
	ovs     bool
}

func newNode(t *testing.T) *testNode {
	t.Helper()
	n := &testNode{Node: nmtest.Start(t), t: t, state: t.TempDir(), lease: 20 * time.Second}
	n.boot()
	n.keyfile = n.Keyfile("uplink.nmconnection", uplinkProfile)
	n.reload()
	n.Until("the uplink is up", func() bool { return n.has("192.0.2.10/24", "2001:db8::10/64") })
	return n
}

// boot plugs the uplink in, with a router at the far end.
func (n *testNode) boot() {
	n.Card("uplink0", uplinkMAC)
	n.Peer("addr", "add", "192.0.2.1/24", "dev", "uplink0p")
	n.Peer("addr", "add", "192.0.2.254/24", "dev", "uplink0p")
	n.Peer("addr", "add", "2001:db8::1/64", "dev", "uplink0p", "nodad")
	n.IP("link", "set", "uplink0", "up")
}

func (n *testNode) network() *nm.Network {
	o := nm.Options{
		Bus: nm.SystemBus(nmtest.BusAddress), Files: n.disk, StateDir: n.state, Lease: n.lease, Settle: nmtest.Patience(10 * time.Second),
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
	if n.ovs {
		o.Switch = ovs.New(nmtest.OVSSocket)
	}
	return nm.New(o)
}

// reload has NetworkManager read its folder and waits for nothing.
func (n *testNode) reload() {
	conn, err := nm.SystemBus(nmtest.BusAddress)()
	require.NoError(n.t, err)
	defer conn.Close()
	settings := conn.Object("org.freedesktop.NetworkManager", "/org/freedesktop/NetworkManager/Settings")
	require.NoError(n.t, settings.Call("org.freedesktop.NetworkManager.Settings.ReloadConnections", 0).Err)
}

// has says whether the uplink has all these addresses.
func (n *testNode) has(addrs ...string) bool {
	out := n.IP("-o", "addr", "show", "dev", "uplink0", "scope", "global")
	for _, a := range addrs {
		if !strings.Contains(out, " "+a+" ") {
			return false
		}
	}
	return !strings.Contains(out, "tentative")
}

func (n *testNode) text(path string) string {
	n.t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(n.t, err)
	return string(data)
}

// isOld demands the first network, on the wire and on the disk, byte for byte.
func (n *testNode) isOld() {
	n.t.Helper()
	n.Until("the old addresses are back", func() bool { return n.has("192.0.2.10/24", "2001:db8::10/64") && !n.has("192.0.2.77/24") })
	require.Contains(n.t, n.IP("route"), "default via 192.0.2.1 dev uplink0")
	require.NotContains(n.t, n.IP("route"), "192.0.2.254")
	require.Equal(n.t, uplinkProfile, n.text(n.keyfile))
	entries, err := n.disk.List(nmtest.VolatileDir)
	require.NoError(n.t, err)
	require.NotContains(n.t, entries, "uplink.nmconnection", "a copy in /run shadows the real profile")
	n.settled()
}

// settled demands that no transaction is left open.
func (n *testNode) settled() {
	n.t.Helper()
	entries, err := n.disk.List(n.state)
	require.NoError(n.t, err)
	require.Empty(n.t, entries, "the journal is still there")
}

func document(t *testing.T, text string) netstate.Document {
	t.Helper()
	d, err := netstate.Decode([]byte(text))
	require.NoError(t, err)
	return d
}

// moved is the document of a node that moves to another address behind another gateway, as
// the IP change flow writes it.
const moved = `
interfaces:
- name: uplink0
  type: ethernet
  state: up
  ipv4: {enabled: true, dhcp: false, address: [{ip: 192.0.2.77, prefix-length: 24}]}
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-interface: uplink0, next-hop-address: 192.0.2.1, state: absent}
  - {destination: 0.0.0.0/0, next-hop-interface: uplink0, next-hop-address: 192.0.2.254, metric: 48, table-id: 254}
dns-resolver: {config: {server: [192.0.2.60, 192.0.2.53]}}
`

// victimProcess is a running copy of this binary that hangs in the middle of an Apply.
type victimProcess struct {
	n   *testNode
	cmd *exec.Cmd
}

// victim applies the document in another process and returns when that hangs.
func (n *testNode) victim(doc, hangAt string) *victimProcess {
	n.t.Helper()
	self, err := os.Executable()
	require.NoError(n.t, err)
	v := &victimProcess{n: n, cmd: exec.Command(self)}
	v.cmd.Env = append(os.Environ(), envVictim+"="+n.state, envHangAt+"="+hangAt, envDoc+"="+doc)
	v.cmd.Stderr = os.Stderr
	out, err := v.cmd.StdoutPipe()
	require.NoError(n.t, err)
	require.NoError(n.t, v.cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(n.t, err)
	require.Equal(n.t, "hanging\n", line)
	return v
}

// kill ends the process without a chance to clean up.
func (v *victimProcess) kill() {
	v.n.t.Helper()
	require.NoError(v.n.t, v.cmd.Process.Kill())
	_ = v.cmd.Wait() // always an error: it was killed
}

func timeout(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), nmtest.Patience(time.Minute))
	t.Cleanup(cancel)
	return ctx
}
