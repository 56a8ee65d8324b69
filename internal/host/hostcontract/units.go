package hostcontract

import (
	"context"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// UnitsFixture is a subject of TestUnits.
type UnitsFixture struct {
	Units host.Units
	Masks host.RuntimeMasks
	// Files write unit files of the running system.
	Files host.Files
	// Reload has systemd read unit files again; nil where it does so by itself.
	Reload func(t *testing.T)
}

// TestUnits proves what host.Units and host.RuntimeMasks promise. It writes
// units named lca-contract-*.service into /etc/systemd/system and removes them again.
func TestUnits(t *testing.T, fresh func(t *testing.T) UnitsFixture) {
	t.Helper()
	contract(t, fresh, []behaviour[UnitsFixture]{
		{"a unit that does not exist has a state and no error", unitMissing},
		{"a service starts, once, and stops, once", unitStartStop},
		{"a oneshot has ended when its start returns", unitOneshot},
		{"a failed start is an error and shows in the state", unitFails},
		{"enabling is persistent and idempotent", unitEnable},
		{"enabling a unit that does not exist fails", unitEnableMissing},
		// The units lie in /etc/systemd/system, as kubelet's does: "systemctl mask --runtime" is not
		// enough there, its link in /run/systemd/system comes later in the search.
		{"a masked unit does not start until the mask is lifted", unitMask},
		{"a masked unit is not pulled in by another", unitMaskPulled},
		{"masking is not disabling", unitMaskKeepsEnabled},
		{"a drop-in whose condition does not hold keeps a unit down, by whatever starts it, and that is no failure", unitCondition},
		{"masking and lifting are idempotent, and work on what does not exist", unitMaskIdempotent},
	})
}

const (
	serviceUnit = "lca-contract-service.service"
	otherUnit   = "lca-contract-other.service"
	absentUnit  = "lca-contract-absent.service"
	multiUser   = "multi-user.target.wants"

	staying = "[Unit]\nDescription=Contract\n[Service]\nType=exec\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n"
	passing = "[Unit]\nDescription=Contract\n[Service]\nType=oneshot\nExecStart=/bin/true\n"
	failing = "[Unit]\nDescription=Contract\n[Service]\nType=oneshot\nExecStart=/bin/false\n"
)

// install writes a unit and takes everything about it away at the end.
func (f UnitsFixture) install(t *testing.T, unit, content string) {
	t.Helper()
	file := path.Join(host.UnitDir, unit)
	noError(t, f.Files.Write(file, []byte(content), 0o644))
	f.reload(t)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		noError(t, f.Masks.Unmask(ctx, unit), f.Units.Stop(ctx, unit), f.Units.Disable(ctx, unit), f.Files.Remove(file))
		f.reload(t)
	})
}

func (f UnitsFixture) reload(t *testing.T) {
	t.Helper()
	if f.Reload != nil {
		f.Reload(t)
	}
}

func (f UnitsFixture) state(t *testing.T, unit string) host.UnitState {
	t.Helper()
	s, err := f.Units.State(t.Context(), unit)
	noError(t, err)
	return s
}

func unitMissing(t *testing.T, f UnitsFixture) {
	s := f.state(t, absentUnit)
	require.False(t, s.Exists())
	require.False(t, s.Running())
	require.Error(t, f.Units.Start(t.Context(), absentUnit))
	noError(t, f.Units.Stop(t.Context(), absentUnit))
}

func unitStartStop(t *testing.T, f UnitsFixture) {
	f.install(t, serviceUnit, staying)
	s := f.state(t, serviceUnit)
	require.True(t, s.Exists())
	require.Equal(t, "loaded", s.Load)
	require.Equal(t, "inactive", s.Active)
	for range 2 {
		noError(t, f.Units.Start(t.Context(), serviceUnit))
		s = f.state(t, serviceUnit)
		require.Equal(t, "active", s.Active)
		require.True(t, s.Running())
	}
	for range 2 {
		noError(t, f.Units.Stop(t.Context(), serviceUnit))
		s = f.state(t, serviceUnit)
		require.Equal(t, "inactive", s.Active)
		require.False(t, s.Running())
	}
}

func unitOneshot(t *testing.T, f UnitsFixture) {
	f.install(t, serviceUnit, passing)
	noError(t, f.Units.Start(t.Context(), serviceUnit))
	s := f.state(t, serviceUnit)
	require.Equal(t, "inactive", s.Active)
	require.Equal(t, "success", s.Result)
	require.Zero(t, s.ExitCode)
}

func unitFails(t *testing.T, f UnitsFixture) {
	f.install(t, serviceUnit, failing)
	err := f.Units.Start(t.Context(), serviceUnit)
	require.ErrorContains(t, err, serviceUnit)
	s := f.state(t, serviceUnit)
	require.Equal(t, "failed", s.Active)
	require.Equal(t, "exit-code", s.Result)
	require.Equal(t, 1, s.ExitCode)
	require.False(t, s.Running())
	noError(t, f.Units.Stop(t.Context(), serviceUnit))
}

func (f UnitsFixture) wanted(t *testing.T, unit string) bool { return wanted(t, f.Files, "/", unit) }

// wanted says whether the target below root pulls the unit in.
func wanted(t *testing.T, files host.Files, root, unit string) bool {
	t.Helper()
	_, err := files.Stat(path.Join(root, host.UnitDir, multiUser, unit))
	return err == nil
}

func unitEnable(t *testing.T, f UnitsFixture) {
	f.install(t, serviceUnit, staying)
	require.Equal(t, "disabled", f.state(t, serviceUnit).File)
	for range 2 {
		noError(t, f.Units.Enable(t.Context(), serviceUnit))
		require.Equal(t, "enabled", f.state(t, serviceUnit).File)
		require.True(t, f.wanted(t, serviceUnit))
	}
	require.Equal(t, "inactive", f.state(t, serviceUnit).Active, "enabling does not start")
	for range 2 {
		noError(t, f.Units.Disable(t.Context(), serviceUnit))
		require.Equal(t, "disabled", f.state(t, serviceUnit).File)
		require.False(t, f.wanted(t, serviceUnit))
	}
}

func unitEnableMissing(t *testing.T, f UnitsFixture) {
	require.Error(t, f.Units.Enable(t.Context(), absentUnit))
	require.False(t, f.wanted(t, absentUnit))
}

func unitMask(t *testing.T, f UnitsFixture) {
	f.install(t, serviceUnit, staying)
	noError(t, f.Units.Start(t.Context(), serviceUnit), f.Masks.Mask(t.Context(), serviceUnit), f.Units.Stop(t.Context(), serviceUnit))
	_ = f.Units.Start(t.Context(), serviceUnit) // an error or not: it must stay down
	require.False(t, f.state(t, serviceUnit).Running())
	noError(t, f.Masks.Unmask(t.Context(), serviceUnit), f.Units.Start(t.Context(), serviceUnit))
	require.True(t, f.state(t, serviceUnit).Running())
}

func unitMaskPulled(t *testing.T, f UnitsFixture) {
	f.install(t, serviceUnit, staying)
	f.install(t, otherUnit, "[Unit]\nWants="+serviceUnit+"\nAfter="+serviceUnit+"\n[Service]\nType=exec\nExecStart=/bin/sleep infinity\n")
	noError(t, f.Masks.Mask(t.Context(), serviceUnit), f.Units.Start(t.Context(), otherUnit))
	require.True(t, f.state(t, otherUnit).Running())
	require.False(t, f.state(t, serviceUnit).Running())
}

func unitMaskKeepsEnabled(t *testing.T, f UnitsFixture) {
	f.install(t, serviceUnit, staying)
	noError(t, f.Units.Enable(t.Context(), serviceUnit), f.Masks.Mask(t.Context(), serviceUnit))
	require.True(t, f.wanted(t, serviceUnit), "a power cut must bring it back")
	require.Equal(t, staying, read(t, f.Files, path.Join(host.UnitDir, serviceUnit)))
	noError(t, f.Masks.Unmask(t.Context(), serviceUnit))
	require.Equal(t, "enabled", f.state(t, serviceUnit).File)
}

func unitCondition(t *testing.T, f UnitsFixture) {
	mark, dropIns := path.Join(host.UnitDir, "lca-contract-mark"), path.Join(host.UnitDir, serviceUnit+".d")
	t.Cleanup(func() { noError(t, f.Files.Remove(mark), f.Files.Remove(dropIns)) })
	noError(t, f.Files.Write(mark, nil, 0o600),
		f.Files.Write(path.Join(dropIns, "10-mark.conf"), []byte("[Unit]\nConditionPathExists=!"+mark+"\n"), 0o644))
	f.install(t, serviceUnit, staying)
	f.install(t, otherUnit, "[Unit]\nRequires="+serviceUnit+"\nAfter="+serviceUnit+"\n[Service]\nType=exec\nExecStart=/bin/sleep infinity\n")
	noError(t, f.Units.Start(t.Context(), serviceUnit), f.Units.Start(t.Context(), otherUnit))
	require.False(t, f.state(t, serviceUnit).Running())
	require.True(t, f.state(t, otherUnit).Running())
	noError(t, f.Files.Remove(mark), f.Units.Start(t.Context(), serviceUnit))
	require.True(t, f.state(t, serviceUnit).Running(), "the condition is asked anew, without a reload")
}

func unitMaskIdempotent(t *testing.T, f UnitsFixture) {
	f.install(t, serviceUnit, staying)
	for _, unit := range []string{serviceUnit, absentUnit} {
		for range 2 {
			noError(t, f.Masks.Mask(t.Context(), unit))
		}
		for range 2 {
			noError(t, f.Masks.Unmask(t.Context(), unit))
		}
	}
	require.Equal(t, "disabled", f.state(t, serviceUnit).File)
	require.False(t, f.state(t, absentUnit).Exists())
}
