package preflight_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/preflight"
)

// wide is a cluster as the installer makes it where it is told nothing: the machine network is ten times as wide as the link.
func wide() preflight.Facts {
	f := goodFacts()
	f.Current.IPv4 = &lcav1.IPStatus{Address: "10.0.1.5", MachineNetwork: "10.0.0.0/16", PrefixLength: 24, Gateway: "10.0.1.1"}
	return f
}

func to(address, network, gateway string) lcav1.IPConfigSpec {
	return lcav1.IPConfigSpec{Stage: lcav1.StageConfig, IPv4: &lcav1.IPv4Config{Address: address, MachineNetwork: network, Gateway: gateway}}
}

func TestTheNetworkOnTheLinkIsTheCards(t *testing.T) {
	for _, c := range []struct {
		name     string
		spec     lcav1.IPConfigSpec
		refusal  string
		warning  string
		edit     func(*preflight.Facts)
		expected netip.Prefix
	}{
		{name: "an address only", spec: to("10.0.1.77", "", ""), expected: netip.MustParsePrefix("10.0.1.0/24"),
			warning: "machine network 10.0.0.0/16 has prefix length /16, and the network card has /24: ipv4 address 10.0.1.77 keeps /24"},
		{name: "the cluster's machine network spelled out", spec: to("10.0.1.77", "10.0.0.0/16", "10.0.1.1"),
			expected: netip.MustParsePrefix("10.0.1.0/24"), warning: "ipv4 address 10.0.1.77 keeps /24"},
		{name: "another link of the same machine network", spec: to("10.0.7.77", "", ""), expected: netip.MustParsePrefix("10.0.7.0/24"),
			refusal: "gateway 10.0.1.1 is not on the link: it is outside 10.0.7.0/24", warning: "keeps /24"},
		{name: "another link with its gateway", spec: to("10.0.7.77", "", "10.0.7.1"), expected: netip.MustParsePrefix("10.0.7.0/24"), warning: "keeps /24"},
		{name: "another machine network", spec: to("198.51.100.20", "198.51.100.0/25", "198.51.100.1"), expected: netip.MustParsePrefix("198.51.100.0/25"),
			warning: "gets prefix length /25 of the new machine network 198.51.100.0/25, and the network card has /24 now"},
		{name: "another machine network as wide as the link", spec: to("198.51.100.20", "198.51.100.0/24", "198.51.100.1"),
			expected: netip.MustParsePrefix("198.51.100.0/24")},
		{name: "the broadcast address of the link", spec: to("10.0.1.255", "", ""), expected: netip.MustParsePrefix("10.0.1.0/24"),
			refusal: "10.0.1.255 is the network or broadcast address of 10.0.1.0/24", warning: "keeps /24"},
		{name: "a route to another link", spec: to("10.0.1.77", "", ""), expected: netip.MustParsePrefix("10.0.1.0/24"), warning: "keeps /24",
			edit: func(f *preflight.Facts) { f.Current.Routes = routes("10.0.9.0/24 enp7s0 203.0.113.1 100") }},
		{name: "a link wider than the machine network", spec: to("10.0.1.77", "", ""), expected: netip.MustParsePrefix("10.0.0.0/8"), warning: "keeps /8",
			edit: func(f *preflight.Facts) {
				f.Current.IPv4.MachineNetwork, f.Current.IPv4.PrefixLength = "10.0.1.0/24", 8
			}, refusal: "machine network 10.0.0.0/8 overlaps the cluster's inner network 10.128.0.0/14"},
		{name: "a card that was not observed", spec: to("10.0.1.77", "", ""), edit: func(f *preflight.Facts) { f.Current.IPv4.PrefixLength = 0 },
			refusal: "the prefix length of ipv4 address 10.0.1.77 is not known: br-ex does not have the node's present address: set spec.ipv4.machineNetwork"},
		{name: "a card that was not observed, with a machine network", spec: to("198.51.100.20", "198.51.100.0/24", "198.51.100.1"),
			edit: func(f *preflight.Facts) { f.Current.IPv4.PrefixLength = 0 }, expected: netip.MustParsePrefix("198.51.100.0/24")},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := wide()
			if c.edit != nil {
				c.edit(&f)
			}
			checks := preflight.Validate(c.spec, f)
			if c.refusal != "" {
				require.ErrorContains(t, preflight.Refusal(checks), c.refusal)
			} else {
				require.NoError(t, preflight.Refusal(checks))
			}
			require.Equal(t, c.expected, ipconfig.DesiredFamilies(c.spec, f.Current)[0].OnLink())
			for _, check := range checks {
				if check.Name != preflight.CheckPrefix {
					continue
				}
				require.Equal(t, c.warning != "", check.Result == lcav1.PreflightFailed, check.Message)
				require.Contains(t, check.Message, c.warning)
			}
		})
	}
}

// TestAFamilyThatStaysNeedsAPrefixLengthToo: the change writes both families.
func TestAFamilyThatStaysNeedsAPrefixLengthToo(t *testing.T) {
	f := goodFacts()
	dualStack(&f)
	f.Current.IPv6.PrefixLength = 0
	require.ErrorContains(t, preflight.Refusal(preflight.Validate(goodSpec(), f)), "the prefix length of ipv6 address 2001:db8::10 is not known")
}
