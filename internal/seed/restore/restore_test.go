package restore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

func TestAnImageIsRestoredAndTheNodeGoesBack(t *testing.T) {
	w := newWorld(t, false)
	w.node.BootWith("root=LABEL=mine", "systemd.unified_cgroup_hierarchy=1")
	require.NoError(t, w.Live(nil))
	require.Empty(t, w.node.Failures())
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "restored", verdict)
	read := func(file string) string {
		data, err := w.node.Files().Read(file)
		require.NoError(t, err)
		return string(data)
	}
	require.Equal(t, "of the seed", read("/var/lib/app/data"))
	require.Equal(t, "of the seed", read("/etc/app.conf"))
	require.Equal(t, "mine", read("/etc/machine-id"), "the machine is the same")
	require.Equal(t, "mine", read("/etc/ssh/ssh_host_rsa_key"))
	require.Equal(t, "lca-cli program\n", read(host.CLIInVar), "the program that runs, not the seed's")
	for _, gone := range []string{"/etc/hosts", "/etc/lvm/devices/system.devices"} {
		_, err := w.node.Files().Stat(gone)
		require.ErrorContains(t, err, "not exist")
	}
	name, err := w.node.Hostname().Hostname(t.Context())
	require.NoError(t, err)
	require.Equal(t, "store42", name)
	require.Equal(t, []string{"root=LABEL=mine", "systemd.unified_cgroup_hierarchy=1"}, w.node.ArgumentsOf(w.node.Describe().Booted))
	require.NoError(t, w.Again())
}
