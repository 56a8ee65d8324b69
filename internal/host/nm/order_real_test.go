package nm_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nmtest"
)

// TestTheFirstAddressIsThePrimaryOne: others choose the node's address by the order, in the profile and in the kernel.
func TestTheFirstAddressIsThePrimaryOne(t *testing.T) {
	n := newNode(t)
	n.cards("card0")
	ip := func(addresses ...string) string {
		var list []string
		for _, a := range addresses {
			list = append(list, "{ip: "+a+", prefix-length: 24}")
		}
		return "interfaces: [{name: card0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: false, address: [" + strings.Join(list, ", ") + "]}}]"
	}
	n.apply(ip("192.0.2.10", "203.0.113.9"))
	n.apply(ip("198.51.100.20", "203.0.113.9"))
	text := n.text(filepath.Join(nmtest.KeyfileDir, "card0.nmconnection"))
	require.Less(t, strings.Index(text, "198.51.100.20"), strings.Index(text, "203.0.113.9"), text)
	shown := n.IP("-o", "-4", "addr", "show", "dev", "card0")
	require.Less(t, strings.Index(shown, "198.51.100.20"), strings.Index(shown, "203.0.113.9"), shown)
	n.settled()
}
