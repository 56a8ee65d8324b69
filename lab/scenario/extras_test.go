//go:build lab

package scenario

import (
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/lab/drive"
)

// addExtras gives the uplink's profile a second address and two static routes, one of them over the router that the node leaves, and
// has br-ex made anew from it.
const addExtras = `f=/etc/NetworkManager/system-connections/uplink0.nmconnection
sed -i 's|^\[ipv4\]$|&\naddress2=203.0.113.9/24\nroute1=198.18.0.0/16,203.0.113.1\nroute2=198.19.0.0/16,192.0.2.1|' "$f"
nmcli connection load "$f"
systemctl restart ovs-configuration.service`

// TestWhatElseIsOnTheUplinkIsKept: NetworkManager and the script that makes br-ex carry the second address and its route through a
// change and back; what the new network cannot reach is named before.
func TestWhatElseIsOnTheUplinkIsKept(t *testing.T) {
	tool(t, "systemd-nspawn")
	long(t)
	ctx, l, d := node(t, "scenario-extras")
	in(ctx, t, l, "sh", "-ec", addExtras)
	have := func() string { return in(ctx, t, l, "sh", "-c", "ip -4 address show br-ex; ip -4 route show") }
	requireExtras := func() {
		require.Contains(t, have(), "203.0.113.9/24")
		require.Contains(t, have(), "198.18.0.0/16 via 203.0.113.1 dev br-ex")
	}
	requireExtras()
	require.Contains(t, have(), "198.19.0.0/16 via 192.0.2.1 dev br-ex")
	until(ctx, t, "the API server after the bridge was made anew", func() bool { return drive.Look(ctx, l, home).API })

	require.NoError(t, d.Patch(ctx, move()))
	var extras []string
	_, err := d.Until(ctx, "a completed change", func(ipc *lcav1.IPConfig) bool {
		if ipc.Status.Plan != nil && len(ipc.Status.Plan.UplinkExtras) > 0 {
			extras = ipc.Status.Plan.UplinkExtras
		}
		return drive.Is(lcav1.ConditionConfigCompleted)(ipc)
	})
	require.NoError(t, err)
	requireExtras()
	require.NotContains(t, have(), "198.19.0.0/16", "its router is on the network that the node has left")
	require.Contains(t, extras, "kept: address 203.0.113.9/24")

	require.NoError(t, d.Stage(ctx, lcav1.StageRollback))
	ipc, err := d.Until(ctx, "a completed rollback", drive.Is(lcav1.ConditionRollbackCompleted))
	require.NoError(t, err)
	requireExtras()
	require.Contains(t, have(), "198.19.0.0/16 via 192.0.2.1 dev br-ex")
	requireBack(ctx, t, l, d, ipc)
}
