package change_test

import (
	"context"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// The cluster's own names must resolve to an address of a family that the DNS filter leaves in. The filter that the node
// has already counts where the request says nothing about it.
func TestTheOverrideIsOfAFamilyThatTheFilterLeavesIn(t *testing.T) {
	for _, c := range []struct{ name, present, requested, want string }{
		{"no filter", "none", "", newSite.address},
		{"the node filters IPv4", "ipv4", "", "2001:db8:1::20"},
		{"the request filters IPv4", "none", "ipv4", "2001:db8:1::20"},
		{"the request removes the filter", "ipv4", "none", newSite.address},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			require.NoError(t, w.node.Resolver().SetFilter("", c.present))
			w.second = netip.MustParseAddr("2001:db8::10")
			w.edit = func(spec *lcav1.IPConfigSpec) {
				spec.IPv6 = &lcav1.IPv6Config{Address: "2001:db8:1::20", MachineNetwork: "2001:db8:1::/64", Gateway: "2001:db8:1::1"}
				spec.DNSFilterOutFamily = lcav1.DNSFilterFamily(c.requested)
			}
			name := ""
			w.wrap = failing(ipconfig.StepUnits, func(context.Context) error {
				for root, s := range w.node.Describe().Stateroots {
					if root != oldStateroot {
						name = s.DNSName
					}
				}
				return context.Canceled
			})
			require.NoError(t, w.Live(nil))
			require.Equal(t, c.want, name)
		})
	}
}
