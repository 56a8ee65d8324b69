package ipconfig_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	cli "github.com/lifecycle-agent/lifecycle-agent/internal/cli/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// planned runs "ip-config plan" on a node with VLAN 100.
func planned(t *testing.T, args ...string) (ipconfig.Preview, error) {
	t.Helper()
	n := hosttest.NewNode(hosttest.Options{VLAN: 100})
	var out bytes.Buffer
	cmd := cli.Command(cli.Wiring{
		Node: func(context.Context, bool) (ipconfig.Node, ipconfig.Instruments, error) {
			return ipconfig.Node{
				Files: n.Files(), Trees: n.Trees(), Deployments: n.Deployments(), Network: n.Network(), Switch: n.Switch(),
			}, ipconfig.Instruments{}, nil
		},
		Log: flow.Discard(), Out: &out,
	})
	cmd.SetArgs(append([]string{"plan", "-o", "json"}, args...))
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		return ipconfig.Preview{}, err
	}
	var p ipconfig.Preview
	require.NoError(t, json.Unmarshal(out.Bytes(), &p), out.String())
	return p, nil
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
