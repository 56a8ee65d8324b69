package change_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// TestTheNodeIPHintFollowsTheChange looks into the new stateroot; the old one keeps what it had.
func TestTheNodeIPHintFollowsTheChange(t *testing.T) {
	const owning = `{"spec":{"config":{"storage":{"files":[{"path":"/etc/default/nodeip-configuration"}]}}}}`
	for _, c := range []struct{ name, before, machineConfig, after string }{
		{"in the old network", "KUBELET_NODEIP_HINT=192.0.2.0\n", "", "KUBELET_NODEIP_HINT=198.51.100.0\n"},
		{"quoted, among others", "# KUBELET_NODEIP_HINT=192.0.2.0\nA=1\nKUBELET_NODEIP_HINT=\"192.0.2.77\"\nB=192.0.2.77", "",
			"# KUBELET_NODEIP_HINT=192.0.2.0\nA=1\nKUBELET_NODEIP_HINT=\"198.51.100.0\"\nB=192.0.2.77"},
		{"NODEIP_HINT, which wins, in the old network", "NODEIP_HINT=192.0.2.5\nKUBELET_NODEIP_HINT=192.0.2.0\n", "",
			"NODEIP_HINT=198.51.100.0\nKUBELET_NODEIP_HINT=198.51.100.0\n"},
		{"NODEIP_HINT of another network", "NODEIP_HINT=203.0.113.0\nKUBELET_NODEIP_HINT=192.0.2.0\n", "",
			"NODEIP_HINT=203.0.113.0\nKUBELET_NODEIP_HINT=198.51.100.0\n"},
		{"in the new network", "KUBELET_NODEIP_HINT=198.51.100.9\n", "", "KUBELET_NODEIP_HINT=198.51.100.9\n"},
		{"in another network", "KUBELET_NODEIP_HINT=203.0.113.0\n", "", "KUBELET_NODEIP_HINT=203.0.113.0\n"},
		{"of another family", "KUBELET_NODEIP_HINT=2001:db8::\n", "", "KUBELET_NODEIP_HINT=2001:db8::\n"},
		{"no address", "KUBELET_NODEIP_HINT=\n", "", "KUBELET_NODEIP_HINT=\n"},
		{"owned by a MachineConfig", "KUBELET_NODEIP_HINT=192.0.2.0\n", owning, "KUBELET_NODEIP_HINT=192.0.2.0\n"},
		{"not there", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			files := w.node.Files()
			require.NoError(t, files.Remove(host.NodeIPHint))
			if c.before != "" {
				require.NoError(t, files.Write(host.NodeIPHint, []byte(c.before), 0o640))
			}
			if c.machineConfig != "" {
				require.NoError(t, files.Write(host.MachineConfig, []byte(c.machineConfig), 0o600))
			}
			require.NoError(t, w.Live(nil))
			w.requireVerdict("new")
			w.requireHint(c.after)
			require.NoError(t, w.launch(t.Context(), ipconfig.UnitRollback, "ip-config", "rollback"))
			require.NoError(t, w.rest(t.Context()))
			w.requireVerdict("old")
			w.requireHint(c.before)
		})
	}
}

func (w *world) requireHint(want string) {
	w.t.Helper()
	data, err := w.node.Files().Read(host.NodeIPHint)
	if want == "" {
		require.Error(w.t, err)
		return
	}
	require.NoError(w.t, err)
	require.Equal(w.t, want, string(data))
	info, err := w.node.Files().Stat(host.NodeIPHint)
	require.NoError(w.t, err)
	require.EqualValues(w.t, 0o640, info.Mode().Perm())
}
