package onsite

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBothHintsNameTheNetworkOfTheSite: NODEIP_HINT wins where both are set.
func TestBothHintsNameTheNetworkOfTheSite(t *testing.T) {
	site := []netip.Prefix{netip.MustParsePrefix("198.51.100.20/24")}
	require.Equal(t, "NODEIP_HINT=198.51.100.0\nKUBELET_NODEIP_HINT=198.51.100.0\nNODEIP_HINT=2001:db8::\nA=192.0.2.1\n",
		replaceHint("NODEIP_HINT=192.0.2.0\nKUBELET_NODEIP_HINT=\"192.0.2.0\"\nNODEIP_HINT=2001:db8::\nA=192.0.2.1\n", site))
}
