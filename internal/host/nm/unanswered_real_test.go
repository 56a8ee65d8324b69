package nm_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// unanswered are documents that ask a network which answers nothing, and what is then said.
var unanswered = map[string]struct {
	doc  string
	late []string
}{
	"DHCP": {onCard("ipv4: {enabled: true, dhcp: true}"), []string{"card0: no DHCP answer yet"}},
	"autoconfiguration": {
		onCard("ipv6: {enabled: true, dhcp: true, autoconf: true}"), []string{"card0: no IPv6 router or DHCP answer yet"},
	},
	"DHCP of both families": {
		onCard("ipv4: {enabled: true, dhcp: true}, ipv6: {enabled: true, dhcp: true, autoconf: false}"),
		[]string{"card0: no DHCP answer yet", "card0: no DHCP answer for IPv6 yet"},
	},
	"a fixed address beside DHCP": {
		onCard("ipv4: {enabled: true, dhcp: true, address: [{ip: 203.0.113.5, prefix-length: 24}]}"), []string{"card0: no DHCP answer yet"},
	},
	"a fixed address beside autoconfiguration": {
		onCard(card4 + ", ipv6: {enabled: true, dhcp: true, autoconf: true, address: [{ip: '2001:db8:5::5', prefix-length: 64}]}"),
		[]string{"card0: no IPv6 router or DHCP answer yet"},
	},
	"a bridge without ports": {
		"interfaces: [{name: br0, type: linux-bridge, state: up, bridge: {port: []}, ipv4: {enabled: true, dhcp: true}}]",
		[]string{"br0: no DHCP answer yet"},
	},
}

// TestANetworkThatDoesNotAnswerIsAskedFurther: the change is kept without its addresses, says so, and is in place when applied again.
func TestANetworkThatDoesNotAnswerIsAskedFurther(t *testing.T) {
	n := newNode(t)
	n.cards("card0")
	n.apply(onCard("ipv4: {enabled: false}, ipv6: {enabled: false}"))
	for name, c := range unanswered {
		t.Run(name, func(t *testing.T) {
			n.t = t
			doc := document(t, c.doc)
			before, err := n.network().Observe(timeout(t))
			require.NoError(t, err)
			began := time.Now()
			require.NoError(t, n.network().Apply(timeout(t), doc, nil))
			t.Log("applied in", time.Since(began))
			n.inPlace(c.doc)
			got, err := n.network().Observe(timeout(t))
			require.NoError(t, err)
			require.Empty(t, netstate.Verify(doc, got))
			require.Equal(t, "{}\n", encoded(t, netstate.Diff(got, doc)))
			require.Equal(t, c.late, netstate.Unanswered(doc, got))
			n.apply(encoded(t, netstate.Revert(doc, before)))
		})
	}
	n.t = t
	n.settled()
}

// TestALateServerIsNotMissed: NetworkManager asks for as long as it takes, also after a boot.
func TestALateServerIsNotMissed(t *testing.T) {
	n := newNode(t)
	n.cards("card0")
	doc := onCard("ipv4: {enabled: true, dhcp: true, auto-gateway: false, address: [{ip: 198.51.100.5, prefix-length: 24}]}")
	n.apply(doc)
	text := n.text(n.profileFile("card0"))
	require.Contains(t, text, "dhcp-timeout=2147483647")
	n.Peer("addr", "add", "203.0.113.1/24", "dev", "card0p")
	n.ServeDHCP([]string{"card0"}, []string{"203.0.113.100,203.0.113.120,255.255.255.0"})
	n.Until("the card has a lease beside its own address", func() bool {
		out := n.IP("-o", "-4", "addr", "show", "dev", "card0")
		return strings.Contains(out, " 203.0.113.1") && strings.Contains(out, " 198.51.100.5/24 ")
	})
	n.inPlace(doc)
	got, err := n.network().Observe(timeout(t))
	require.NoError(t, err)
	require.Empty(t, netstate.Unanswered(document(t, doc), got))
	got.Routes.Running = nil
	n.apply(encoded(t, got))
	require.NotContains(t, n.text(n.profileFile("card0")), "address2=", "what is leased is not made a fixed address")

	n.apply(onCard("ipv4: {enabled: true, dhcp: true, address: []}"))
	n.Until("the fixed address is gone", func() bool {
		return !strings.Contains(n.IP("-o", "-4", "addr", "show", "dev", "card0"), " 198.51.100.5/24 ")
	})
	n.settled()
}

// TestAnAnswerThatIsNeededIsWaitedFor: without it the change is undone.
func TestAnAnswerThatIsNeededIsWaitedFor(t *testing.T) {
	for name, doc := range map[string]string{
		"wait-ip":     onCard("wait-ip: ipv4, ipv4: {enabled: true, dhcp: true}, ipv6: {enabled: false}"),
		"the gateway": "interfaces: [{name: uplink0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}]",
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.cards("card0")
			before := n.shown()
			err := n.network().Apply(timeout(t), document(t, doc), nil)
			require.ErrorContains(t, err, "the old network is back")
			n.Until("the state before is back", func() bool { return n.shown() == before })
			n.settled()
		})
	}
}

// profileFile is the file of the profile of that name.
func (n *testNode) profileFile(name string) string {
	return "/etc/NetworkManager/system-connections/" + name + ".nmconnection"
}
