package nm_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDescription: what an administrator says of an interface is in its profile, as nmstate keeps it, until it is taken away.
func TestDescription(t *testing.T) {
	n := newNode(t)
	const text = `to the "tills", row 3 \ left`
	n.apply("interfaces: [{name: uplink0, type: ethernet, state: up, description: '" + text + "'}]")
	described := func() string {
		got := n.find("uplink0", "ethernet")
		if got.Description == nil {
			return ""
		}
		return *got.Description
	}
	require.Equal(t, text, described())
	n.inPlace("interfaces: [{name: uplink0, type: ethernet, state: up, description: '" + text + "'}]")
	n.refusedByProof("interfaces: [{name: uplink0, type: ethernet, state: up, description: another}]")
	require.Equal(t, text, described(), "the one before is back")

	n.PowerCut()
	n.boot()
	n.StartNM()
	n.Until("it boots", func() bool { return n.has("192.0.2.10/24", "2001:db8::10/64") })
	require.Equal(t, text, described())
	n.shown() // and the thorough observation agrees
	n.apply("interfaces: [{name: uplink0, type: ethernet, state: up, description: ''}]")
	require.Empty(t, described())
	require.NotContains(t, n.text(n.keyfile), "nmstate.interface.description")
	require.True(t, n.has("192.0.2.10/24", "2001:db8::10/64"))
}
