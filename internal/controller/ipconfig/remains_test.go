package ipconfig

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// TestRemainsKeepTheNodeFromNothing: Idle names what a cleanup could not remove, and another change begins.
func TestRemainsKeepTheNodeFromNothing(t *testing.T) {
	w := newWorld(t)
	const left = "rhcos_ipc-20250101-000000-0007"
	w.node.bare = []string{left}
	require.NoError(t, ipconfig.WriteRemains(w.node, ipconfig.Remains{left: "var/mnt is a mount point", "removed-by-hand": "x"}))
	ipc := w.rest()
	requireLast(t, ipc, "Idle", yes, "Idle", "Idle; stateroot "+left+" could not be removed whole, and the next cleanup tries again: ")
	require.NotContains(t, condition(ipc, "Idle").Message, "removed-by-hand")
	w.change(toNewAddress)
	require.Equal(t, 1, w.node.launched(ipconfig.UnitPrePivot))
}
