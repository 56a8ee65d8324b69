package nm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
)

// What a failed document depends on is the same after its rollback as before: a rollback is no reason to try it again.
func TestARollbackChangesNothingThatADocumentDependsOn(t *testing.T) {
	n := newNode(t)
	n.cards("nic1", "nic2")
	const bridge = "interfaces: [{name: br7, type: linux-bridge, state: up, bridge: {port: [{name: nic1}, {name: nic2}]}, " +
		"ipv4: {enabled: true, dhcp: false, address: [{ip: 198.51.100.9, prefix-length: 24}]}}]"
	for _, text := range []string{moved, bridge} {
		sums := func() [2]string {
			now, err := n.network().Observe(timeout(t))
			require.NoError(t, err)
			return [2]string{netpolicy.Dependencies(text, false, now), netpolicy.Dependencies(text, true, now)}
		}
		before := sums()
		require.ErrorIs(t, n.network().Apply(timeout(t), document(t, text), refuse), errRefused)
		n.Until("everything is as it was before", func() bool { return sums() == before })
	}
}
