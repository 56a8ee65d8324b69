//go:build lab

package scenario

import (
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/lab/drive"
)

type object = map[string]any

// TestBadInputIsRefusedAndNothingIsTouched sends what a tired person might send.
func TestBadInputIsRefusedAndNothingIsTouched(t *testing.T) {
	tool(t, "systemd-nspawn")
	ctx, l, d := node(t, "scenario-refusal")
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
		{"reserved VLAN", object{"vlanID": 4095}, "4095 is reserved"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.ErrorContains(t, d.Patch(ctx, object{"spec": c.spec}), c.says)
		})
	}

	t.Run("gateway without an address change", func(t *testing.T) {
		spec := object{"stage": lcav1.StageConfig, "ipv4": object{"address": home.String(), "machineNetwork": "192.0.2.0/24", "gateway": "192.0.2.254"}}
		require.NoError(t, d.Patch(ctx, object{"spec": spec}))
		_, err := d.Until(ctx, "a refusal", drive.Is(lcav1.ConditionConfigCompleted))
		require.ErrorContains(t, err, "spec.ipv4.gateway differs")
		require.ErrorContains(t, d.Patch(ctx, object{"spec": object{"ipv4": object{"address": "192.0.2.11"}}}),
			"can not change spec.ipv4 while ipconfig is not idle")
	})

	after := in(ctx, t, l, "sh", "-c", "ls -A /ostree/deploy /var/lib/lca 2>/dev/null; cat /boot/loader/entries/*.conf")
	require.Equal(t, before, after)
}
