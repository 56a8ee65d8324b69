package nm_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// TestFixedIPv6IsInPlaceWithoutACarrier: the kernel looks for a duplicate once the link is there, and until then calls the address
// tentative.
func TestFixedIPv6IsInPlaceWithoutACarrier(t *testing.T) {
	bridge := "interfaces: [{name: br0, type: linux-bridge, state: up, bridge: {port: []}, " + card6 + "}]"
	for name, c := range map[string]struct{ first, doc string }{
		"a bridge without ports": {"", bridge},
		"one that was there":     {"interfaces: [{name: br0, type: linux-bridge, state: up, bridge: {port: []}, " + card4 + "}]", bridge},
		"what stands on one": {"", "interfaces: [{name: br0, type: linux-bridge, state: up, bridge: {port: []}}, " +
			"{name: mv0, type: mac-vlan, state: up, mac-vlan: {base-iface: br0, mode: bridge}, " + card4 + ", " + card6 + "}]"},
		"a card whose cable is out": {"", onCard(card4 + ", " + card6)},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.LinkWithDAD("card0")
			n.IP("link", "set", "card0", "up")
			n.apply(onCard(card4))
			n.Peer("link", "set", "card0p", "down")
			if c.first != "" {
				n.apply(c.first)
			}
			doc := document(t, c.doc)
			began := time.Now()
			n.apply(c.doc)
			t.Log("applied in", time.Since(began))
			n.inPlace(c.doc)
			got, err := n.network().Observe(timeout(t))
			require.NoError(t, err)
			require.Empty(t, netstate.Verify(doc, got))
			require.Equal(t, "{}\n", encoded(t, netstate.Diff(got, doc)))
			n.settled()
		})
	}
}

// TestACardTellsOfItsCable, which is why a document that failed is tried again.
func TestACardTellsOfItsCable(t *testing.T) {
	n := newNode(t)
	n.cards("card0")
	n.Until("the card has a carrier", func() bool { return n.find("card0", "").HasCarrier })
	n.Peer("link", "set", "card0p", "down")
	n.Until("the card has none", func() bool { return !n.find("card0", "").HasCarrier })
}
