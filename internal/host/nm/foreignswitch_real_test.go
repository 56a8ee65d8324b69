package nm_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nmtest"
)

// TestACardOfAForeignSwitchTakesNoAddress: a bridge that was made with ovs-vsctl has the card, and no profile says so.
func TestACardOfAForeignSwitchTakesNoAddress(t *testing.T) {
	n := &testNode{Node: nmtest.Bare(t), t: t, state: t.TempDir(), lease: 20 * time.Second, ovs: true}
	n.StartOVS()
	n.boot()
	n.StartManager()
	n.cards("card0")
	n.vsctl("add-br", "br1", "--", "set", "bridge", "br1", "datapath_type=netdev", "--", "add-port", "br1", "card0")
	before := n.shown()
	for _, doc := range []string{onCard(card4), onCard("ipv6: {enabled: true, dhcp: true, autoconf: true}")} {
		began := time.Now()
		err := n.network().Apply(timeout(t), document(t, doc), nil)
		require.ErrorContains(t, err, "interface card0: it is a port of ovs-bridge br1, which was made without NetworkManager")
		require.Less(t, time.Since(began), nmtest.Patience(5*time.Second), "nothing waits for it")
	}
	require.Equal(t, before, n.shown())
	n.settled()
}
