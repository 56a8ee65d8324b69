//go:build lab

package scenario

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/lab/drive"
	"github.com/lifecycle-agent/lifecycle-agent/lab/network"
)

// TestAnAddressThatSomebodyHasIsRefused: a machine on the LAN answers for the address that is asked for.
func TestAnAddressThatSomebodyHasIsRefused(t *testing.T) {
	tool(t, "systemd-nspawn")
	ctx, l, d := node(t, "scenario-address-in-use")
	before := in(ctx, t, l, "sh", "-c", "ls -A /ostree/deploy; cat /boot/loader/entries/*.conf; cat /proc/sys/kernel/random/boot_id")
	taken := netip.PrefixFrom(away, network.Away().Gateway.Bits())
	require.NoError(t, l.Net.Restore(ctx, taken))

	require.NoError(t, d.Patch(ctx, move()))
	ipc, err := d.Until(ctx, "a refused change", failed)
	require.NoError(t, err)
	require.Contains(t, drive.Summary(ipc), "config validation failed: address 198.51.100.20 is already in use: the machine with hardware address ")
	require.Equal(t, lcav1.PreflightFailed, check(ipc, "address-in-use").Result)
	require.NotEmpty(t, check(ipc, "address-in-use").Hint)
	for _, c := range ipc.Status.Preflight {
		if c.Name != "address-in-use" && c.Name != "one-time-boot" { // the lab's node has no boot loader
			require.NotEqual(t, lcav1.PreflightFailed, c.Result, "%s: %s", c.Name, c.Message)
			t.Logf("%s: %s %s", c.Name, c.Result, c.Message)
		}
	}
	planned := in(ctx, t, l, "/usr/local/bin/lca-cli", "ip-config", "plan", "--ipv4-address", away.String(),
		"--ipv4-machine-network", awayNetwork, "--ipv4-gateway", network.Away().Gateway.Addr().String())
	t.Log(planned)
	require.Contains(t, planned, "198.51.100.20 is already in use")
	require.Contains(t, planned, "Certificates that are signed again")
	require.Equal(t, before, in(ctx, t, l, "sh", "-c", "ls -A /ostree/deploy; cat /boot/loader/entries/*.conf; cat /proc/sys/kernel/random/boot_id"))

	require.NoError(t, l.Net.Drop(ctx, taken))
	require.NoError(t, d.Stage(ctx, lcav1.StageIdle))
	_, err = d.Eventually(ctx, "Idle again", drive.Is(lcav1.ConditionIdle))
	require.NoError(t, err)
	require.NoError(t, d.Stage(ctx, lcav1.StageConfig))
	ipc, err = d.Until(ctx, "the same change under way", func(ipc *lcav1.IPConfig) bool { return ipc.Status.Plan != nil })
	require.NoError(t, err)
	require.Equal(t, lcav1.PreflightPassed, check(ipc, "address-in-use").Result, "the machine is gone")
}

func check(ipc *lcav1.IPConfig, name string) lcav1.PreflightCheck {
	for _, c := range ipc.Status.Preflight {
		if c.Name == name {
			return c
		}
	}
	return lcav1.PreflightCheck{}
}

type object = map[string]any

// TestBadInputIsRefusedAndNothingIsTouched sends what a tired person might send.
func TestBadInputIsRefusedAndNothingIsTouched(t *testing.T) {
	tool(t, "systemd-nspawn")
	ctx, l, d := sharedNode(t)
	before := in(ctx, t, l, "sh", "-c", "ls -A /ostree/deploy /var/lib/lca 2>/dev/null; cat /boot/loader/entries/*.conf")

	for _, c := range []struct {
		name string
		spec object
		says string
	}{
		{"address outside its network", object{"ipv4": object{"address": "198.51.100.20", "machineNetwork": "203.0.113.0/24"}},
			"must be inside spec.ipv4.machineNetwork"},
		{"family the cluster lacks", object{"ipv6": object{"address": "2001:db8:2::20", "machineNetwork": "2001:db8:2::/64"}},
			"the cluster is IPv4-only"},
		{"stage not allowed", object{"stage": "Rollback"}, "spec.stage can not change from Idle to Rollback now"},
		{"address with a prefix", object{"ipv4": object{"address": "198.51.100.20/24"}}, "without prefix length"},
		{"reserved address", object{"ipv4": object{"address": "240.0.0.20", "machineNetwork": "240.0.0.0/24"}}, "must not be in 0.0.0.0/8 or 240.0.0.0/4"},
		{"reserved VLAN", object{"vlanID": 4095}, "4095 is reserved"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.ErrorContains(t, d.Patch(ctx, object{"spec": c.spec}), c.says)
		})
	}

	t.Run("gateway without an address change", func(t *testing.T) {
		spec := object{"stage": lcav1.StageConfig, "ipv4": object{"address": home.String(), "machineNetwork": homeNetwork, "gateway": "192.0.2.254"}}
		require.NoError(t, d.Patch(ctx, object{"spec": spec}))
		_, err := d.Until(ctx, "a refusal", drive.Is(lcav1.ConditionConfigCompleted))
		require.ErrorContains(t, err, "spec.ipv4.gateway differs")
		require.ErrorContains(t, d.Patch(ctx, object{"spec": object{"ipv4": object{"address": "192.0.2.11"}}}),
			"can not change spec.ipv4 while ipconfig is not idle")
	})

	after := in(ctx, t, l, "sh", "-c", "ls -A /ostree/deploy /var/lib/lca 2>/dev/null; cat /boot/loader/entries/*.conf")
	require.Equal(t, before, after)
	require.NoError(t, d.Stage(ctx, lcav1.StageIdle))
	_, err := d.Eventually(ctx, "Idle again", drive.Is(lcav1.ConditionIdle))
	require.NoError(t, err)
}
