package nm_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nmtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// BenchmarkNetwork measures on a node with many cards, each with a profile of its own.
func BenchmarkNetwork(b *testing.B) {
	for _, cards := range []int{10, 100, 500, 2000} {
		if os.Getenv(nmtest.EnvPatience) == "" && cards > 100 {
			b.Logf("left out: %d cards, which need %s=10 to come up in time (make bench-network)", cards, nmtest.EnvPatience)
			continue
		}
		n := nmtest.Start(b)
		for i := range cards {
			n.Link(fmt.Sprintf("nic%d", i))
			n.Keyfile(fmt.Sprintf("nic%d.nmconnection", i), fmt.Sprintf(
				"[connection]\nid=nic%[1]d\nuuid=00000000-0000-4000-8000-%012[1]d\ntype=ethernet\ninterface-name=nic%[1]d\n[ipv4]\nmethod=manual\naddress1=10.%[2]d.%[3]d.1/24\n[ipv6]\nmethod=disabled\n", i, i/200, i%200))
		}
		n.KillNM()
		n.StartNM()
		net := nm.New(nm.Options{Bus: nm.SystemBus(nmtest.BusAddress), Files: nmtest.Disk{}, StateDir: b.TempDir()})
		doc := func(host int) netstate.Document {
			return netstate.Document{Interfaces: []netstate.Interface{{
				Name: "nic0", Type: netstate.TypeEthernet, State: netstate.StateUp,
				IPv4: &netstate.IP{Enabled: new(true), Addresses: []netstate.Address{{IP: fmt.Sprintf("10.0.0.%d", host), PrefixLength: 24}}},
			}}}
		}
		require.NoError(b, net.Apply(b.Context(), doc(1), nil))
		b.Run(fmt.Sprintf("observe/%d", cards), func(b *testing.B) {
			for b.Loop() {
				_, err := net.Observe(b.Context())
				require.NoError(b, err)
			}
		})
		b.Run(fmt.Sprintf("in-place/%d", cards), func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, net.Apply(b.Context(), doc(1), nil))
			}
		})
		b.Run(fmt.Sprintf("change/%d", cards), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				require.NoError(b, net.Apply(b.Context(), doc(2+i%2), nil))
			}
		})
	}
}
