//go:build lab

package scenario

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/drive"
	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
	"github.com/lifecycle-agent/lifecycle-agent/lab/network"
)

// siteConfig is what an integrator hands to the technician of the second site.
func siteConfig(gateway string) string {
	return fmt.Sprintf(`apiVersion: relocation.lca.openshift.io/v1
kind: SiteConfig
metadata: {name: store-17}
clusterName: store-17
baseDomain: example.com
hostname: store-17
network:
  interfaces:
  - name: uplink0
    type: ethernet
    state: up
    ipv4:
      enabled: true
      dhcp: false
      address:
      - {ip: %[1]s, prefix-length: 24}
  routes:
    config:
    - {destination: 0.0.0.0/0, next-hop-interface: uplink0, next-hop-address: %[2]s}
machineNetworks: [%[3]s]
nodeIPs: [%[1]s]
dnsServers: [%[4]s]
`, away, gateway, awayNetwork, network.Away().DNS.Addr())
}

// TestRelocation ships a node from its factory to a site whose network and name are others, and takes it back.
func TestRelocation(t *testing.T) {
	tool(t, "systemd-nspawn")
	ctx, l, _ := node(t, "scenario-relocation")
	in(ctx, t, l, "lca-cli", "relocation", "prepare")
	require.NoError(t, l.Machine.Stop(ctx))
	require.NoError(t, l.Machine.Start(ctx))
	waits := func() bool { return says(ctx, l, "systemctl is-active --quiet lca-relocation.service") }
	require.Eventually(t, waits, 2*time.Minute, time.Second, "the node waits for its site")

	deliver(ctx, t, l, siteConfig(network.Away().Gateway.Addr().String()))
	atHome := func() bool {
		out, err := machine.Output(ctx, l.Machine, "lca-cli", "relocation", "status", "-o", "json")
		t.Log(out, err)
		return drive.Look(ctx, l, away).API && says(ctx, l, "test -e /var/lib/lca/relocation/site-report.json")
	}
	require.Eventually(t, atHome, 3*time.Minute, 5*time.Second, "healthy on its site")
	require.Equal(t, "store-17", in(ctx, t, l, "hostname"))
}

// deliver puts a configuration where a volume's content would be copied to.
func deliver(ctx context.Context, t *testing.T, l *lab.Lab, text string) {
	t.Helper()
	in(ctx, t, l, "sh", "-c", "mkdir -p /etc/lca/site-config && cat > /etc/lca/site-config/site-config.yaml <<'EOF'\n"+text+"EOF")
}
