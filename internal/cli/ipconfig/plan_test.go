package ipconfig_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	cli "github.com/lifecycle-agent/lifecycle-agent/internal/cli/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/preflight"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// planned runs "ip-config plan" on a node with VLAN 100.
func planned(t *testing.T, args ...string) (change.Preview, error) {
	t.Helper()
	return plannedOn(t, hosttest.NewNode(hosttest.Options{VLAN: 100}), cluster{}, args...)
}

// cluster answers what "plan" asks of it.
type cluster struct {
	change.Cluster
	down error
	// forecaster is the node's; nil for none.
	forecaster change.Forecaster
}

func (c cluster) Inputs(context.Context, string) (change.Inputs, error) {
	return change.Inputs{InstallConfig: "apiVersion: v1", NodeAddresses: []netip.Addr{netip.MustParseAddr("192.0.2.10")}}, c.down
}

// blocked is a Forecaster of a cluster that recert cannot rewrite.
type blocked struct{}

func (blocked) Forecast(context.Context, []byte) (change.Forecast, error) {
	return change.Forecast{Blocked: []string{"secrets: 3 stored objects are encrypted at rest"}}, nil
}

func (c cluster) Facts(context.Context) (preflight.Facts, error) {
	return preflight.Facts{
		ControlPlaneNodes: 1, DnsmasqMachineConfig: true,
		Current: ipconfig.Current{IPv4: &lcav1.IPStatus{Address: "192.0.2.10", MachineNetwork: "192.0.2.0/24"}},
	}, c.down
}

// forecaster answers what recert would do.
type forecaster change.Forecast

func (f *forecaster) Forecast(context.Context, []byte) (change.Forecast, error) {
	return change.Forecast(*f), nil
}

// What needs attention before the outage, and what nobody looked into, is in the text too.
func TestPlanShowsWhatNeedsAttention(t *testing.T) {
	f := &forecaster{Warnings: []string{"/policy: nmstate applies it to the node again"}, NotRead: []string{"/x: is larger than 8 MiB"}}
	text, err := answer(t, hosttest.NewNode(hosttest.Options{}), cluster{forecaster: f},
		"--ipv4-address=198.51.100.20", "--ipv4-machine-network=198.51.100.0/24", "--ipv4-gateway=198.51.100.1")
	require.NoError(t, err)
	require.Contains(t, text, "\nWARNINGS (1):\n    /policy: nmstate applies it to the node again\n")
	require.Contains(t, text, "\nNot looked into (1):\n    /x: is larger than 8 MiB\n")
}

func plannedOn(t *testing.T, n *hosttest.Node, c cluster, args ...string) (change.Preview, error) {
	t.Helper()
	text, err := answer(t, n, c, append(args, "-o", "json")...)
	if err != nil {
		return change.Preview{}, err
	}
	var p change.Preview
	require.NoError(t, json.Unmarshal([]byte(text), &p), text)
	return p, nil
}

func answer(t *testing.T, n *hosttest.Node, c cluster, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := cli.Command(cli.Wiring{
		Node: func(context.Context, bool) (change.Ports, operation.Instruments, error) {
			return change.Ports{Node: n.Ports(), Cluster: c, Forecaster: c.forecaster, Clock: flow.SystemClock{}}, operation.Instruments{}, nil
		},
		Wiring: verb.Wiring{Log: slog.New(slog.DiscardHandler), Out: &out},
	})
	cmd.SetArgs(append([]string{"plan"}, args...))
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestPlanKeepsTheVLANUnlessTold(t *testing.T) {
	move := []string{"--ipv4-address=198.51.100.20", "--ipv4-machine-network=198.51.100.0/24", "--ipv4-gateway=198.51.100.1"}
	for _, c := range []struct {
		name, flag, carrier, kind string
	}{
		{"left out", "", "enp1s0.100", netstate.TypeVLAN},
		{"removed", "--vlan-id=0", "enp1s0", netstate.TypeEthernet},
		{"replaced", "--vlan-id=200", "enp1s0.200", netstate.TypeVLAN},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := move
			if c.flag != "" {
				args = append(args, c.flag)
			}
			p, err := planned(t, args...)
			require.NoError(t, err)
			doc, err := netstate.Decode([]byte(p.NMState))
			require.NoError(t, err)
			carrier, found := doc.Find(c.carrier, c.kind)
			require.True(t, found, p.NMState)
			require.NotNil(t, carrier.IPv4)
			require.Equal(t, "198.51.100.20", carrier.IPv4.Addresses[0].IP)
		})
	}
}

func TestPlanSaysWhatIsMissing(t *testing.T) {
	_, err := planned(t)
	require.ErrorContains(t, err, "--ipv4-address")
}

func TestPlanMakesTheChecksOfTheAgent(t *testing.T) {
	move := []string{"--ipv4-address=198.51.100.20", "--ipv4-machine-network=198.51.100.0/24", "--ipv4-gateway=198.51.100.1"}
	result := func(p change.Preview, name string) lcav1.PreflightCheck {
		for _, c := range p.Checks {
			if c.Name == name {
				return c
			}
		}
		return lcav1.PreflightCheck{}
	}
	t.Run("address in use", func(t *testing.T) {
		n := hosttest.NewNode(hosttest.Options{})
		n.Occupy(netip.MustParseAddr("198.51.100.20"))
		p, err := plannedOn(t, n, cluster{}, move...)
		require.NoError(t, err, "a refusal is an answer")
		require.Len(t, p.Checks, len(preflight.Checks()))
		require.Equal(t, lcav1.PreflightFailed, result(p, preflight.CheckAddressInUse).Result)
		require.Contains(t, p.Refusal, "198.51.100.20 is already in use")
		text, err := answer(t, n, cluster{}, move...)
		require.NoError(t, err)
		require.Contains(t, text, "The change would be refused.")
	})
	t.Run("address outside its network", func(t *testing.T) {
		p, err := plannedOn(t, hosttest.NewNode(hosttest.Options{}), cluster{}, "--ipv4-address=198.51.100.20")
		require.NoError(t, err)
		require.Contains(t, p.Refusal, "outside its machine network 192.0.2.0/24")
		require.Empty(t, p.NMState)
	})
	t.Run("recert that cannot do it", func(t *testing.T) {
		p, err := plannedOn(t, hosttest.NewNode(hosttest.Options{}), cluster{forecaster: blocked{}}, move...)
		require.NoError(t, err)
		require.Equal(t, lcav1.PreflightFailed, result(p, preflight.CheckRecertPlan).Result)
		require.Contains(t, p.Refusal, "secrets: 3 stored objects are encrypted at rest")
	})
	t.Run("cluster down", func(t *testing.T) {
		p, err := plannedOn(t, hosttest.NewNode(hosttest.Options{}), cluster{down: errors.New("connection refused")}, move...)
		require.NoError(t, err)
		require.Equal(t, lcav1.PreflightUnknown, result(p, preflight.CheckSingleNode).Result)
		require.Contains(t, result(p, preflight.CheckProxy).Message, "connection refused")
		require.NotEmpty(t, p.NMState)
	})
	t.Run("the operation that is prepared", func(t *testing.T) {
		n := hosttest.NewNode(hosttest.Options{})
		spec := lcav1.IPConfigSpec{IPv4: &lcav1.IPv4Config{Address: "198.51.100.20", MachineNetwork: "198.51.100.0/24", Gateway: "198.51.100.1"},
			Probes: []lcav1.Probe{{Name: "hub", Type: lcav1.ProbeTCP, Target: "hub.example:443"}}}
		r := ipconfig.BuildRequest("20260102-030405-beef", "rhcos", spec, ipconfig.Current{})
		require.NoError(t, ipconfig.WriteRequest(n.Files(), r, ipconfig.PostPivotConfig{}, ipconfig.AutoRollback{}))
		text, err := answer(t, n, cluster{})
		require.NoError(t, err)
		require.Contains(t, text, "rhcos_ipc-20260102-030405-beef (from rhcos)")
		require.Contains(t, text, "hub: tcp hub.example:443 within 30s")
	})
}

func TestPlanSaysWhatBecomesOfTheNodeIPHint(t *testing.T) {
	move := []string{"--ipv4-address=198.51.100.20", "--ipv4-machine-network=198.51.100.0/24", "--ipv4-gateway=198.51.100.1"}
	for _, c := range []struct{ name, file, machineConfig, says string }{
		{"in the old network", "KUBELET_NODEIP_HINT=192.0.2.0\n", "", "KUBELET_NODEIP_HINT 192.0.2.0 -> 198.51.100.0\n"},
		{"in another", "KUBELET_NODEIP_HINT=203.0.113.0\n", "",
			"KUBELET_NODEIP_HINT stays 203.0.113.0: it is in no machine network that the change leaves\n"},
		{"owned", "KUBELET_NODEIP_HINT=192.0.2.0\n",
			`{"spec":{"config":{"storage":{"files":[{"path":"/etc/default/nodeip-configuration"}]}}}}`,
			"a MachineConfig owns /etc/default/nodeip-configuration. Until it says 198.51.100.0 there"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := hosttest.NewNode(hosttest.Options{})
			require.NoError(t, n.Files().Write(host.NodeIPHint, []byte(c.file), 0o644))
			if c.machineConfig != "" {
				require.NoError(t, n.Files().Write(host.MachineConfig, []byte(c.machineConfig), 0o600))
			}
			text, err := answer(t, n, cluster{}, move...)
			require.NoError(t, err)
			require.Contains(t, text, "Node IP hint   KUBELET_NODEIP_HINT")
			require.Contains(t, text, c.says)
		})
	}
}

// TestPlanNamesWhatElseTheUplinkHas, kept or not.
func TestPlanNamesWhatElseTheUplinkHas(t *testing.T) {
	n := hosttest.NewNode(hosttest.Options{})
	doc, err := netstate.Decode([]byte(`
interfaces:
- {name: br-ex, type: ovs-interface, state: up, ipv4: {enabled: true, address: [
    {ip: 192.0.2.10, prefix-length: 24}, {ip: 203.0.113.9, prefix-length: 24}]}}
routes:
  config:
  - {destination: 10.9.0.0/16, next-hop-interface: br-ex, next-hop-address: 192.0.2.7}
`))
	require.NoError(t, err)
	require.NoError(t, n.Network().Apply(t.Context(), doc, nil))
	text, err := answer(t, n, cluster{}, "--ipv4-address=198.51.100.20", "--ipv4-machine-network=198.51.100.0/24",
		"--ipv4-gateway=198.51.100.1")
	require.NoError(t, err)
	require.Contains(t, text, "\nOther addresses and routes of the uplink:\n    kept: address 203.0.113.9/24\n"+
		"    left: route 10.9.0.0/16 via 192.0.2.7: its next hop 192.0.2.7 is on no network of the node after the change\n")
	require.Contains(t, text, "Failed   Warning   uplink-extras: ")
}

// TestPlanNamesFilesThatNameWhatIsLeft with the line, and without the line's text, which may hold a secret.
func TestPlanNamesFilesThatNameWhatIsLeft(t *testing.T) {
	n := hosttest.NewNode(hosttest.Options{})
	for file, text := range map[string]string{
		"/etc/hosts": "127.0.0.1 localhost\n192.0.2.10 registry.local\n192.0.2.100\n# 192.0.2.10\n",
		"/etc/containers/registries.conf.d/site.conf":           "[[registry]]\nlocation = \"192.0.2.10:5000/x\"\n",
		"/etc/chrony.conf":                                      "server 192.0.2.7 iburst\nserver 203.0.113.7\n",
		"/etc/systemd/system/site.service.d/10-env.conf":        "[Service]\nEnvironment=PEER=http://192.0.2.10/ TOKEN=hidden\n",
		"/etc/systemd/system/kubelet.service.d/20-nodenet.conf": "[Service]\nEnvironment=KUBELET_NODE_IP=192.0.2.10\n",
	} {
		require.NoError(t, n.Files().Write(file, []byte(text), 0o644))
	}
	text, err := answer(t, n, cluster{}, "--ipv4-address=198.51.100.20", "--ipv4-machine-network=198.51.100.0/24",
		"--ipv4-gateway=198.51.100.1")
	require.NoError(t, err)
	require.Contains(t, text, "\nFiles of this node that name what is left; the change does not edit them (5):\n"+
		"    /etc/hosts:2 names 192.0.2.10\n    /etc/hosts:3 names 192.0.2.100\n    /etc/chrony.conf:1 names 192.0.2.7\n"+
		"    /etc/containers/registries.conf.d/site.conf:2 names 192.0.2.10\n"+
		"    /etc/systemd/system/site.service.d/10-env.conf:2 names 192.0.2.10\n")
	require.NotContains(t, text, "hidden")
}
