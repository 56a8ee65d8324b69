package nm_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nmtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// cardsOf starts NetworkManager on a node with so many cards.
func cardsOf(b *testing.B, cards int) {
	n := nmtest.Start(b)
	for i := range cards {
		n.Link(fmt.Sprintf("nic%d", i))
		n.Keyfile(fmt.Sprintf("nic%d.nmconnection", i), fmt.Sprintf(
			"[connection]\nid=nic%[1]d\nuuid=00000000-0000-4000-8000-%012[1]d\ntype=ethernet\ninterface-name=nic%[1]d\n[ipv4]\nmethod=manual\naddress1=10.%[2]d.%[3]d.1/24\n[ipv6]\nmethod=disabled\n", i, i/200, i%200))
	}
	n.KillNM()
	n.StartNM()
}

// nmstatectl is where distributions install it.
const nmstatectl = "/usr/bin/nmstatectl"

// BenchmarkNmstatectl measures nmstatectl on the same nodes, by the same changes as BenchmarkNetwork.
func BenchmarkNmstatectl(b *testing.B) {
	if _, err := os.Stat(nmstatectl); err != nil {
		b.Skip("reason: " + nmstatectl + " is not installed; there is nothing to compare with")
	}
	for _, cards := range []int{10, 100, 500} {
		if os.Getenv(nmtest.EnvPatience) == "" && cards > 100 {
			continue // as below
		}
		b.Run(strconv.Itoa(cards), func(b *testing.B) { benchmarkNmstatectl(b, cards) })
	}
}

func benchmarkNmstatectl(b *testing.B, cards int) {
	cardsOf(b, cards)
	run := func(b *testing.B, document string, args ...string) {
		cmd := exec.CommandContext(b.Context(), nmstatectl, args...)
		cmd.Env = append(os.Environ(), "DBUS_SYSTEM_BUS_ADDRESS="+nmtest.BusAddress)
		cmd.Stdin = strings.NewReader(document)
		out, err := cmd.CombinedOutput()
		require.NoError(b, err, "%s", out)
	}
	document := func(host int) string {
		return fmt.Sprintf("interfaces: [{name: nic0, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 10.0.0.%d, prefix-length: 24}]}}]\n", host)
	}
	run(b, document(1), "apply", "-")
	b.Run("observe", func(b *testing.B) {
		for b.Loop() {
			run(b, "", "show")
		}
	})
	b.Run("in-place", func(b *testing.B) {
		for b.Loop() {
			run(b, document(1), "apply", "-")
		}
	})
	b.Run("change", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			run(b, document(2+i%2), "apply", "-")
		}
	})
}

// BenchmarkNetwork measures on a node with many cards, each with a profile of its own.
func BenchmarkNetwork(b *testing.B) {
	for _, cards := range []int{10, 100, 500, 2000} {
		if os.Getenv(nmtest.EnvPatience) == "" && cards > 100 {
			b.Logf("left out: %d cards, which need %s=10 to come up in time (make bench-network)", cards, nmtest.EnvPatience)
			continue
		}
		b.Run(strconv.Itoa(cards), func(b *testing.B) { benchmarkNetwork(b, cards) })
	}
}

func benchmarkNetwork(b *testing.B, cards int) {
	cardsOf(b, cards)
	net := nm.New(nm.Options{Bus: nm.SystemBus(nmtest.BusAddress), Files: nmtest.Disk{}, StateDir: b.TempDir()})
	doc := func(host int) netstate.Document {
		return netstate.Document{Interfaces: []netstate.Interface{{
			Name: "nic0", Type: netstate.TypeEthernet, State: netstate.StateUp,
			IPv4: &netstate.IP{Enabled: new(true), Addresses: []netstate.Address{{IP: fmt.Sprintf("10.0.0.%d", host), PrefixLength: 24}}},
		}}}
	}
	require.NoError(b, net.Apply(b.Context(), doc(1), nil))
	b.Run("observe", func(b *testing.B) {
		for b.Loop() {
			_, err := net.Observe(b.Context())
			require.NoError(b, err)
		}
	})
	b.Run("in-place", func(b *testing.B) {
		for b.Loop() {
			require.NoError(b, net.Apply(b.Context(), doc(1), nil))
		}
	})
	b.Run("change", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			require.NoError(b, net.Apply(b.Context(), doc(2+i%2), nil))
		}
	})
}
