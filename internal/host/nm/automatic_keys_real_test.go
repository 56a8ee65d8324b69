package nm_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A host name for DHCP and a token that a document has set are taken away by empty ones; a token of zeros is none, too.
func TestKeysOfAutomaticAddressesAreTakenAway(t *testing.T) {
	n := newNode(t)
	n.cards("eth1")
	n.Peer("addr", "add", "198.51.100.1/24", "dev", "eth1p")
	n.ServeDHCP([]string{"eth1"}, []string{"198.51.100.100,198.51.100.100,255.255.255.0"})
	card := func(name, token string) string {
		return `interfaces:
- name: eth1
  type: ethernet
  state: up
  ipv4: {enabled: true, dhcp: true, dhcp-custom-hostname: ` + name + `}
  ipv6: {enabled: true, dhcp: true, autoconf: true, token: ` + token + `}
`
	}
	for _, none := range []string{`""`, `"::"`} {
		n.apply(card("node.example.org", `"::fac"`))
		require.Equal(t, "::fac", *n.find("eth1", "").IPv6.Token)
		n.apply(card(`""`, none))
		i := n.find("eth1", "")
		require.Empty(t, *i.IPv4.DHCPCustomHostname)
		require.Empty(t, *i.IPv6.Token)
		n.inPlace(card(`""`, none))
	}
}
