package nm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// TestAgeingIsNotJudgedWhileTheTreeChanges: the kernel forgets addresses faster while a spanning tree settles, and shows that time.
func TestAgeingIsNotJudgedWhileTheTreeChanges(t *testing.T) {
	n := newNode(t)
	n.cards("card0")
	doc := onBridge("mac-ageing-time: 200, stp: {enabled: true, forward-delay: 4, hello-time: 1, max-age: 6}")
	n.apply(doc)
	changing, ageing := "/sys/class/net/br0/bridge/topology_change", "/sys/class/net/br0/bridge/ageing_time"
	n.Until("the tree changes", func() bool { return n.text(changing) == "1\n" })
	require.Equal(t, "800\n", n.text(ageing))
	n.apply("interfaces: [{name: br0, type: linux-bridge, state: up, description: it changes, bridge: {options: {mac-ageing-time: 200}}}]")
	n.inPlace(doc)
	got, err := n.network().Observe(timeout(t))
	require.NoError(t, err)
	require.Empty(t, netstate.Verify(document(t, doc), got))
	require.Equal(t, "{}\n", encoded(t, netstate.Diff(got, document(t, doc))))
	require.Equal(t, "1\n", n.text(changing), "it changes still")
	n.Until("the tree has settled", func() bool { return n.text(changing) == "0\n" })
	require.Equal(t, 200, *n.find("br0", netstate.TypeLinuxBridge).Bridge.Options.MACAgeingTime)
	n.inPlace(doc)
	n.settled()
}
