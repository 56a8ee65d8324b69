package nm_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMPTCP: the kernel has the addresses of an interface as ends of Multipath TCP, with the flags of the document.
func TestMPTCP(t *testing.T) {
	const enabled = "/proc/sys/net/mptcp/enabled"
	if was, err := os.ReadFile(enabled); err != nil || len(was) == 0 {
		t.Skip("reason: this kernel does not speak Multipath TCP")
	}
	n := newNode(t)
	n.cards("card0")
	require.NoError(t, os.WriteFile(enabled, []byte("0"), 0o600))
	signal := onCard(card4 + ", mptcp: {address-flags: [signal]}")
	require.ErrorContains(t, n.network().Apply(timeout(t), document(t, signal), nil), "set the sysctl net.mptcp.enabled to 1 first")
	n.settled()
	require.NoError(t, os.WriteFile(enabled, []byte("1"), 0o600))
	n.apply(signal)
	require.Contains(t, n.IP("mptcp", "endpoint"), "203.0.113.5")
	require.Contains(t, n.IP("mptcp", "endpoint"), "signal")
	n.apply(onCard(card4 + ", mptcp: {address-flags: [subflow, backup]}"))
	n.Until("the flags are others", func() bool {
		out := n.IP("mptcp", "endpoint")
		return !strings.Contains(out, "signal") && strings.Contains(out, "subflow") && strings.Contains(out, "backup")
	})
	n.apply(onCard(card4 + ", mptcp: {address-flags: []}"))
	n.Until("there is no end", func() bool { return !strings.Contains(n.IP("mptcp", "endpoint"), "203.0.113.5") })
}
