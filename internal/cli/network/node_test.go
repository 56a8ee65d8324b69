package network_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cli "github.com/lifecycle-agent/lifecycle-agent/internal/cli/network"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// console is an administrator at the console of a node.
type console struct {
	t     *testing.T
	node  *hosttest.Node
	clock *hurried
	log   *bytes.Buffer
}

func newConsole(t *testing.T) console {
	return console{t, hosttest.NewNode(hosttest.Options{Stateroot: "rhcos"}), &hurried{now: time.Unix(1_800_000_000, 0)}, &bytes.Buffer{}}
}

// hurried is a clock on which sleeping takes no time.
type hurried struct{ now time.Time }

func (c *hurried) Now() time.Time { return c.now }

func (c *hurried) Sleep(ctx context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	return ctx.Err()
}

// run executes "network ARGS"; a document given as input goes to a file that stands for DOC.
func (c console) run(document string, args ...string) (string, error) {
	c.t.Helper()
	file := filepath.Join(c.t.TempDir(), "doc.yaml")
	require.NoError(c.t, os.WriteFile(file, []byte(document), 0o600))
	for n, a := range args {
		if a == "DOC" {
			args[n] = file
		}
	}
	var out bytes.Buffer
	w := cli.Wiring{
		Wiring: verb.Wiring{Lock: c.node.Lock(), Log: slog.New(slog.NewTextHandler(c.log, nil)), Out: &out, Clock: c.clock},
		In:     bytes.NewBufferString(document),
		Node: func(context.Context) (cli.Ports, error) {
			net := c.node.Network()
			return cli.Ports{Network: net, Transaction: c.node.NetworkTransaction(), Planner: net.(host.NetworkPlanner),
				Trials: c.node.NetworkTrials(), Prober: c.node.Prober()}, nil
		},
	}
	cmd := cli.Command(w)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(c.t.Context())
	return out.String(), err
}

func (c console) must(document string, args ...string) string {
	c.t.Helper()
	out, err := c.run(document, args...)
	require.NoError(c.t, err)
	return out
}

func (c console) document(args ...string) netstate.Document {
	c.t.Helper()
	d, err := netstate.Decode([]byte(c.must("", args...)))
	require.NoError(c.t, err)
	return d
}

// uplink is the name and the first address of the interface with the default route.
func (c console) uplink() (string, string) {
	d := c.document("show")
	r, ok := netstate.DefaultRoute(d, netstate.IPv4, "")
	require.True(c.t, ok)
	for _, i := range d.Interfaces {
		if i.Name == r.NextHopInterface && i.IPv4.On() {
			return i.Name, i.IPv4.Addresses[0].IP
		}
	}
	c.t.Fatal("no uplink")
	return "", ""
}

func mtu(name string) string { return "interfaces: [{name: " + name + ", type: ethernet, mtu: 1400}]" }

func (c console) nic() string {
	for _, i := range c.document("show").Interfaces {
		if i.Type == netstate.TypeEthernet {
			return i.Name
		}
	}
	c.t.Fatal("no card")
	return ""
}

func TestShowInterfacesByName(t *testing.T) {
	c := newConsole(t)
	name, _ := c.uplink()
	d := c.document("show", name[:2]+"*")
	require.NotEmpty(t, d.Interfaces)
	require.JSONEq(t, `{"interfaces": []}`, c.must("", "show", "--json", "eno99"), "as nmstatectl does")
	require.Empty(t, c.document("show", "-r").Routes.Running)
	require.Contains(t, c.must("", "show", "--json"), `"interfaces"`)
}

func TestApplyPlanAndNothingMoreToDo(t *testing.T) {
	c := newConsole(t)
	nic := c.nic()
	require.NotContains(t, c.must(mtu(nic), "plan", "DOC"), "Everything is in place")
	out := c.must(mtu(nic), "apply", "DOC")
	require.Contains(t, out, "mtu: 1400")
	require.Equal(t, "---\n{}\n", c.must(mtu(nic), "set", "-"), "applied again, it changes nothing")
	require.Contains(t, c.must(mtu(nic), "plan", "DOC"), "Everything is in place")
	require.Empty(t, c.must(mtu(nic), "apply", "-q"))
}

// A change that waits for its network is kept, and the administrator is warned.
func TestANetworkThatDoesNotAnswerIsWarnedOf(t *testing.T) {
	c := newConsole(t)
	c.must("interfaces: [{name: eth9, type: dummy, state: up, ipv4: {enabled: true, dhcp: true}}]", "apply", "DOC")
	require.Contains(t, c.log.String(), `NetworkManager goes on asking" missing="eth9: no DHCP answer yet"`)
}

func TestConfirmByHand(t *testing.T) {
	for verb, want := range map[string]int{"commit": 1400, "rollback": 0} {
		t.Run(verb, func(t *testing.T) {
			c := newConsole(t)
			nic := c.nic()
			before, _ := c.document("show").Find(nic, "")
			c.must(mtu(nic), "apply", "--no-commit", "--timeout", "60", "DOC")
			_, err := c.run(mtu(nic), "apply", "DOC")
			require.ErrorIs(t, err, host.ErrNetworkPending)
			c.must("", verb)
			after, _ := c.document("show").Find(nic, "")
			if want == 0 {
				want = before.MTU
			}
			require.Equal(t, want, after.MTU)
			_, err = c.run("", verb)
			require.ErrorIs(t, err, host.ErrNoNetworkPending)
		})
	}
}

func TestAGatewayThatIsLostTakesTheChangeBack(t *testing.T) {
	c := newConsole(t)
	name, _ := c.uplink()
	c.node.Silence(netip.MustParseAddr("192.0.2.200"))
	before := c.must("", "show")
	wrong := "routes: {config: [{destination: 0.0.0.0/0, next-hop-interface: " + name + ", state: absent}, " +
		"{destination: 0.0.0.0/0, next-hop-interface: " + name + ", next-hop-address: 192.0.2.200}]}"
	for _, args := range [][]string{{"apply", "DOC"}, {"apply", "--no-commit", "DOC"}} {
		_, err := c.run(wrong, args...)
		require.ErrorContains(t, err, "gateway answered before the change and does not answer after it")
		require.Equal(t, before, c.must("", "show"))
	}
}

func TestBadDocumentsTouchNothing(t *testing.T) {
	c := newConsole(t)
	before := c.must("", "show")
	for document, want := range map[string]string{
		"interfaces: [{name: eno1, typo: x}]":                                               `interfaces[eno1].typo: unknown key; did you mean "type"?`,
		"interfaces: [{name: eno1, type: ethernet, ethtool: {fec: {}}}]":                    "interfaces[eno1].ethtool.fec: is part of nmstate, and this product does not support it",
		"interfaces: [{name: a, type: ethernet}, {name: a, type: vlan}]":                    "appears twice",
		"desiredState: {interfaces: [{name: eno1, mtu: many}]}":                             `interfaces[eno1].mtu: "many" is not a whole number`,
		"capture: {a: interfaces.type == ethernet}\ndesiredState: {x: '{{ capture.b.x }}'}": `there is no capture "b"`,
	} {
		_, err := c.run(document, "apply", "DOC")
		require.ErrorContains(t, err, want)
	}
	require.Equal(t, before, c.must("", "show"))
}

// TestAChangeOfTheOnlyUplinkNeedsAnAnswerBefore: what did not answer before the change proves nothing after it.
func TestAChangeOfTheOnlyUplinkNeedsAnAnswerBefore(t *testing.T) {
	c := newConsole(t)
	name, _ := c.uplink()
	r, _ := netstate.DefaultRoute(c.document("show"), netstate.IPv4, "")
	c.node.Silence(netip.MustParseAddr(r.NextHopAddress))
	before := c.must("", "show")
	for _, args := range [][]string{{"apply", "DOC"}, {"apply", "--no-commit", "DOC"}} {
		_, err := c.run(mtu(name), args...)
		require.ErrorContains(t, err, "the document changes "+name+", the node's only uplink")
		require.ErrorContains(t, err, "nothing could prove the new network")
		require.ErrorContains(t, err, "--no-probe")
		require.Equal(t, before, c.must("", "show"))
	}
	t.Run("by another gateway", func(t *testing.T) {
		other := func(gateway string) string {
			return "routes: {config: [{destination: 0.0.0.0/0, next-hop-interface: " + name + ", state: absent}, " +
				"{destination: 0.0.0.0/0, next-hop-interface: " + name + ", next-hop-address: " + gateway + "}]}"
		}
		c.node.Silence(netip.MustParseAddr("192.0.2.200"))
		_, err := c.run(other("192.0.2.200"), "apply", "DOC")
		require.ErrorContains(t, err, "192.0.2.200")
		require.Equal(t, before, c.must("", "show"))
		c.must(other("192.0.2.254"), "apply", "DOC")
	})
	t.Run("another interface", func(t *testing.T) {
		c.must("interfaces: [{name: d0, type: dummy, state: up}]", "apply", "DOC")
	})
	t.Run("asked not to probe", func(t *testing.T) {
		c.must(mtu(name), "apply", "--no-probe", "DOC")
	})
}
