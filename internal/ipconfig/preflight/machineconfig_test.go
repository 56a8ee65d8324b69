package preflight_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/preflight"
)

// rendered is a MachineConfig with files and units, as the daemon keeps it.
func rendered(files, units []string) []byte {
	list := func(names []string, form string) string {
		var out []string
		for _, n := range names {
			out = append(out, fmt.Sprintf(form, n))
		}
		return strings.Join(out, ",")
	}
	return fmt.Appendf(nil, `{"metadata":{"name":"rendered-master-1"},"spec":{"config":{"storage":{"files":[%s]},"systemd":{"units":[%s]}}}}`,
		list(files, `{"path":%q}`), list(units, `{"name":%q,"contents":"[Unit]"}`))
}

func TestFilesOfAMachineConfigAreNotChanged(t *testing.T) {
	const profile, other = host.NMConnections + "/uplink.nmconnection", host.NMConnections + "/storage.nmconnection"
	for _, c := range []struct {
		name         string
		files, units []string
		text         string // of the profile
		filter       lcav1.DNSFilterFamily
		says         string // empty: passed
	}{
		{name: "nothing that a change writes", files: []string{"/etc/chrony.conf", host.NodeIPHint}, units: []string{"dnsmasq.service"}},
		{name: "the uplink's profile", files: []string{profile}, text: "[connection]\nid=a\ninterface-name=enp1s0\n",
			says: "MachineConfig rendered-master-1 owns what the change writes: " + profile},
		{name: "the profile of the card below a VLAN", files: []string{profile}, text: "[connection]\ninterface-name=enp1s0.100\n", says: profile},
		{name: "a profile for any interface", files: []string{profile}, text: "[connection]\nid=a\n[ipv4]\ninterface-name=no\n", says: profile},
		{name: "another interface's profile", files: []string{other}},
		{name: "dnsmasq's address", files: []string{host.DnsmasqOverrides}, says: host.DnsmasqOverrides},
		{name: "the DNS filter, which stays", files: []string{host.DnsmasqFilter}},
		{name: "the DNS filter, which changes", files: []string{host.DnsmasqFilter}, filter: lcav1.DNSFilterNone, says: host.DnsmasqFilter},
		{name: "a unit of the product", units: []string{"lca-init-monitor.service"}, says: "/etc/systemd/system/lca-init-monitor.service"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, spec := hosttest.NewNode(hosttest.Options{}), goodSpec()
			spec.DNSFilterOutFamily = c.filter
			require.NoError(t, n.Seed(host.MachineConfig, rendered(c.files, c.units)))
			require.NoError(t, n.Seed(profile, []byte(c.text)))
			require.NoError(t, n.Seed(other, []byte("[connection]\ninterface-name=enp7s0\n")))
			checks := surveyed(t, n, spec)
			got := named(t, checks, preflight.CheckMachineConfig)
			if c.says == "" {
				require.Equal(t, lcav1.PreflightPassed, got.Result, got.Message)
				return
			}
			require.Contains(t, got.Message, c.says)
			require.ErrorContains(t, preflight.Refusal(checks), "degrades the node's pool")
		})
	}
}

func TestWithoutMachineConfigNothingOwnsFiles(t *testing.T) {
	n := hosttest.NewNode(hosttest.Options{})
	require.NoError(t, n.Files().Remove(host.MachineConfig))
	got := named(t, surveyed(t, n, goodSpec()), preflight.CheckMachineConfig)
	require.Equal(t, lcav1.PreflightUnknown, got.Result)
	require.Contains(t, got.Message, "not applicable")
}
