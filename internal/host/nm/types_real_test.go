package nm_test

import (
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestATypeThatNetworkManagerIsTooOldFor is refused before anything changes.
func TestATypeThatNetworkManagerIsTooOldFor(t *testing.T) {
	n := newNode(t)
	version := regexp.MustCompile(`NetworkManager \(version 1\.(\d+)`).FindStringSubmatch(n.Log())
	require.NotNil(t, version)
	if minor, err := strconv.Atoi(version[1]); err != nil || minor >= 51 {
		t.Skip("reason: this NetworkManager knows all types")
	}
	before := n.shown()
	err := n.network().Apply(timeout(t), document(t, "interfaces: [{name: ip0, type: ipvlan, state: up, ipvlan: {base-iface: uplink0}}]"), nil)
	require.ErrorContains(t, err, "interface ip0: type ipvlan needs NetworkManager 1.51, and this node has 1."+version[1])
	require.Equal(t, before, n.shown())
	n.settled()
}
