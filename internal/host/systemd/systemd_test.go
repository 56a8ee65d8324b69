package systemd

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

func TestNoSystemd(t *testing.T) {
	m := New(Options{Root: t.TempDir()})
	_, err := m.State(t.Context(), "kubelet.service")
	require.ErrorContains(t, err, systemBus)
	require.ErrorContains(t, err, privateSocket)
	for _, err := range []error{
		m.Start(t.Context(), "x.service"), m.Stop(t.Context(), "x.service"), m.Mask(t.Context(), "x.service"),
		m.Enable(t.Context(), "x.service"), m.Launch(t.Context(), host.Transient{Unit: "x.service", Argv: []string{"true"}}),
	} {
		require.ErrorContains(t, err, "connect to systemd")
	}
}

func TestExitCode(t *testing.T) {
	require.Equal(t, 0, exitCode(0, 0))
	require.Equal(t, 3, exitCode(1, 3))
	require.Equal(t, 137, exitCode(2, 9))
	require.Equal(t, 139, exitCode(3, 11))
}

func TestProgramIsLookedUpOnTheHost(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "usr/bin"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "usr/bin/systemctl"), nil, 0o755))
	m := New(Options{Root: root})
	argv, err := m.resolveProgram([]string{"systemctl", "reboot"})
	require.NoError(t, err)
	require.Equal(t, []string{"/usr/bin/systemctl", "reboot"}, argv)
	_, err = m.resolveProgram([]string{"sh"})
	require.Error(t, err)
}
