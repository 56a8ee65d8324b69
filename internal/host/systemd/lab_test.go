package systemd

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hostcontract"
)

var (
	_ host.Units        = (*Manager)(nil)
	_ host.RuntimeMasks = (*Manager)(nil)
	_ host.Transients   = (*Manager)(nil)
	_ host.ForeignUnits = (*Manager)(nil)
	_ host.Power        = (*Manager)(nil)
)

func needLabNode(t *testing.T) {
	t.Helper()
	if os.Getenv("LCA_LAB_NODE") != "1" {
		t.Skip("reason: starts and masks units of the machine it runs on; build this test with `go test -c`, " +
			"and run it in a lab node with LCA_LAB_NODE=1")
	}
}

// onNode is the node's systemd, once per way to reach it.
func onNode(t *testing.T, prove func(t *testing.T, m *Manager)) {
	needLabNode(t)
	for name, socket := range map[string]string{"bus": systemBus, "private": privateSocket} {
		t.Run(name, func(t *testing.T) {
			m := New(Options{Socket: socket})
			t.Cleanup(m.Close)
			prove(t, m)
		})
	}
}

// clear takes away what an earlier test left of the contract's units.
func clear(t *testing.T, m *Manager) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	for _, unit := range []string{"service", "other", "absent", "transient"} {
		unit = "lca-contract-" + unit + ".service"
		require.NoError(t, m.Stop(ctx, unit))
		require.NoError(t, m.Forget(ctx, unit))
	}
}

func TestLabUnitsContract(t *testing.T) {
	onNode(t, func(t *testing.T, m *Manager) {
		hostcontract.TestUnits(t, func(t *testing.T) hostcontract.UnitsFixture {
			clear(t, m)
			return hostcontract.UnitsFixture{
				Units: m, Masks: m, Files: files.New("/"),
				Reload: func(t *testing.T) { require.NoError(t, m.Reload(context.WithoutCancel(t.Context()))) },
			}
		})
	})
}

func TestLabTransientsContract(t *testing.T) {
	onNode(t, func(t *testing.T, m *Manager) {
		hostcontract.TestTransients(t, func(t *testing.T) hostcontract.TransientsFixture {
			clear(t, m)
			return hostcontract.TransientsFixture{Transients: m, Units: m, Pass: func() { time.Sleep(20 * time.Millisecond) }}
		})
	})
}

// What is in /etc must not outweigh a mask, and the mask must be gone with the power.
func TestLabMaskLivesInRun(t *testing.T) {
	onNode(t, func(t *testing.T, m *Manager) {
		const unit = "lca-contract-service.service"
		clear(t, m)
		file := host.UnitDir + "/" + unit
		require.NoError(t, os.WriteFile(file, []byte("[Service]\nExecStart=/bin/sleep infinity\n"), 0o644))
		defer os.Remove(file)
		require.NoError(t, m.Mask(t.Context(), unit))
		s, err := m.State(t.Context(), unit)
		require.NoError(t, err)
		require.Equal(t, "masked", s.Load)
		require.Equal(t, "masked-runtime", s.File)
		require.ErrorContains(t, m.Start(t.Context(), unit), "masked")
		var st os.FileInfo
		st, err = os.Lstat(controlDir + "/" + unit)
		require.NoError(t, err)
		require.Equal(t, os.ModeSymlink, st.Mode().Type())
		require.NoError(t, m.Unmask(t.Context(), unit))
	})
}

func TestLabLaunch(t *testing.T) {
	onNode(t, func(t *testing.T, m *Manager) {
		clear(t, m)
		const unit = "lca-contract-transient.service"
		err := m.Launch(t.Context(), host.Transient{Unit: unit, Argv: []string{"/no/such/program"}})
		require.ErrorContains(t, err, "203", "systemd's code for a program that cannot be executed")
		require.ErrorContains(t, m.Launch(t.Context(), host.Transient{Unit: unit, Argv: []string{"no-such-program"}}), "not on the host")
		// A name with a failed unit is free, programs are found, and mounts are private.
		mark := t.TempDir() + "/mnt"
		script := `test "$(readlink /proc/self/ns/mnt)" != "$(readlink /proc/1/ns/mnt)" && echo "$WORD" > ` + mark
		err = m.Launch(t.Context(), host.Transient{Unit: unit, Argv: []string{"sh", "-c", script}, Env: []string{"WORD=hello"}})
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			data, err := os.ReadFile(mark)
			return err == nil && string(data) == "hello\n"
		}, time.Minute, 10*time.Millisecond)
	})
}

func TestLabContextEndsTheWait(t *testing.T) {
	onNode(t, func(t *testing.T, m *Manager) {
		const unit = "lca-contract-service.service"
		clear(t, m)
		file := host.UnitDir + "/" + unit
		require.NoError(t, os.WriteFile(file, []byte("[Service]\nType=oneshot\nExecStart=/bin/sleep 1000\n"), 0o644))
		defer os.Remove(file)
		require.NoError(t, m.Reload(t.Context()))
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, m.Start(ctx, unit), context.DeadlineExceeded)
		s, err := m.State(t.Context(), unit)
		require.NoError(t, err)
		require.Equal(t, "activating", s.Active, "the job is systemd's")
		require.NoError(t, m.Stop(t.Context(), unit))
	})
}

func TestLabBootID(t *testing.T) {
	onNode(t, func(t *testing.T, m *Manager) {
		id, err := m.BootID(t.Context())
		require.NoError(t, err)
		require.Len(t, id, 36)
	})
}
