package preflight_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/preflight"
)

func TestWhatTheUplinkLosesIsAWarning(t *testing.T) {
	f := goodFacts()
	f.Current.Extras = ipconfig.Extras{
		Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.10/24"), netip.MustParsePrefix("192.0.2.99/24")},
		Routes:    routes("10.9.0.0/16 br-ex 192.0.2.7 48"),
	}
	checks := preflight.Validate(goodSpec(), f)
	require.NoError(t, preflight.Refusal(checks))
	got := named(t, checks, "uplink-extras")
	require.Equal(t, lcav1.PreflightFailed, got.Result)
	require.Contains(t, got.Message, "address 192.0.2.99/24: it is of the network 192.0.2.0/24, which the node leaves")
	require.Contains(t, got.Message, "route 10.9.0.0/16 via 192.0.2.7: its next hop 192.0.2.7 is on no network")

	spec := goodSpec() // within the network that the node is in already, both stay
	spec.IPv4 = &lcav1.IPv4Config{Address: "192.0.2.11"}
	require.Equal(t, lcav1.PreflightPassed, named(t, preflight.Validate(spec, f), "uplink-extras").Result)
}

// TestAKeptDefaultRouteThatComesFirstIsRefused: the node would answer over another router than the spec names.
func TestAKeptDefaultRouteThatComesFirstIsRefused(t *testing.T) {
	f := goodFacts()
	f.Current.Extras = ipconfig.Extras{
		Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.10/24"), netip.MustParsePrefix("203.0.113.9/24")},
		Routes:    routes("0.0.0.0/0 br-ex 192.0.2.1 20", "0.0.0.0/0 br-ex 203.0.113.1 30"),
	}
	checks := preflight.Validate(goodSpec(), f)
	require.ErrorContains(t, preflight.Refusal(checks),
		"the uplink has another default route, which comes before that of the change: 0.0.0.0/0 via 203.0.113.1 (metric 30): remove it")
	f.Current.Extras.Routes[1].Metric = 400
	require.NoError(t, preflight.Refusal(preflight.Validate(goodSpec(), f)))
}
