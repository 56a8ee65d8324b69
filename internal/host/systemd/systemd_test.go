package systemd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/run"
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
	argv, err := m.program([]string{"systemctl", "reboot"})
	require.NoError(t, err)
	require.Equal(t, []string{"/usr/bin/systemctl", "reboot"}, argv)
	_, err = m.program([]string{"sh"})
	require.Error(t, err)
}

// script answers the runner with one result.
type script struct {
	calls [][]string
	err   error
}

// Run implements run.Runner.
func (s *script) Run(_ context.Context, c run.Command) (run.Result, error) {
	s.calls = append(s.calls, c.Argv)
	return run.Result{}, s.err
}

func TestForeignUnits(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "d", host.UnitDir), 0o755))
	s := &script{}
	m := New(Options{Root: root, Runner: s})
	require.NoError(t, m.EnableIn(t.Context(), "/d", "a.service"))
	require.NoError(t, m.DisableIn(t.Context(), "/d", "a.service"))
	require.Equal(t, [][]string{
		{"systemctl", "--root=/d", "enable", "a.service"}, {"systemctl", "--root=/d", "disable", "a.service"},
	}, s.calls)
	s.err = &run.Error{Argv: s.calls[0], ExitCode: 1, Output: "Failed to disable unit: Unit a.service does not exist", Err: errors.New("exit status 1")}
	require.NoError(t, m.DisableIn(t.Context(), "/d", "a.service"))
	require.Error(t, m.EnableIn(t.Context(), "/d", "a.service"))
}
