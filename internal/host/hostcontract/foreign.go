package hostcontract

import (
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// ForeignUnitsFixture is a subject of TestForeignUnits.
type ForeignUnitsFixture struct {
	Foreign host.ForeignUnits
	// Files write units into Root, and see the running system too.
	Files host.Files
	// Root is a folder that stands for a deployment that does not run.
	Root string
}

// TestForeignUnits proves what host.ForeignUnits promises.
func TestForeignUnits(t *testing.T, fresh func(t *testing.T) ForeignUnitsFixture) {
	t.Helper()
	contract(t, fresh, []behaviour[ForeignUnitsFixture]{
		{"a unit is linked into the targets it names, once, and out of them", foreignEnable},
		{"every target is served", foreignTargets},
		{"a drop-in of the unit changes nothing", foreignDropIn},
		{"a missing unit is not enabled, and is disabled", foreignMissing},
		{"a unit that names no target cannot be enabled", foreignUnwanted},
		{"the links of other units stay", foreignOthers},
	})
}

// put writes a unit, or its drop-in, into the deployment.
func (f ForeignUnitsFixture) put(t *testing.T, name, content string) {
	t.Helper()
	noError(t, f.Files.Write(path.Join(f.Root, host.UnitDir, name), []byte(content), 0o600))
}

func (f ForeignUnitsFixture) wanted(t *testing.T, unit string) bool {
	return wanted(t, f.Files, f.Root, unit)
}

func foreignEnable(t *testing.T, f ForeignUnitsFixture) {
	f.put(t, serviceUnit, staying)
	for range 2 {
		noError(t, f.Foreign.EnableIn(t.Context(), f.Root, serviceUnit))
		require.True(t, f.wanted(t, serviceUnit))
	}
	require.False(t, wanted(t, f.Files, "/", serviceUnit), "the running system is left alone")
	names, err := f.Files.List(path.Join(f.Root, host.UnitDir, multiUser))
	noError(t, err)
	require.Equal(t, []string{serviceUnit}, names)
	for range 2 {
		noError(t, f.Foreign.DisableIn(t.Context(), f.Root, serviceUnit))
		require.False(t, f.wanted(t, serviceUnit))
	}
	require.Equal(t, staying, read(t, f.Files, path.Join(f.Root, host.UnitDir, serviceUnit)))
}

func foreignTargets(t *testing.T, f ForeignUnitsFixture) {
	f.put(t, serviceUnit, "[Install]\nWantedBy=multi-user.target graphical.target\nRequiredBy=basic.target\n")
	noError(t, f.Foreign.EnableIn(t.Context(), f.Root, serviceUnit))
	links := []string{multiUser, "graphical.target.wants", "basic.target.requires"}
	for _, folder := range links {
		_, err := f.Files.Stat(path.Join(f.Root, host.UnitDir, folder, serviceUnit))
		noError(t, err)
	}
	noError(t, f.Foreign.DisableIn(t.Context(), f.Root, serviceUnit))
	for _, folder := range links {
		_, err := f.Files.Stat(path.Join(f.Root, host.UnitDir, folder, serviceUnit))
		require.Error(t, err, folder)
	}
}

func foreignDropIn(t *testing.T, f ForeignUnitsFixture) {
	f.put(t, serviceUnit, staying)
	f.put(t, serviceUnit+".d/50-site.conf", "[Service]\nNice=3\n")
	noError(t, f.Foreign.EnableIn(t.Context(), f.Root, serviceUnit))
	require.True(t, f.wanted(t, serviceUnit))
	noError(t, f.Foreign.DisableIn(t.Context(), f.Root, serviceUnit))
	require.False(t, f.wanted(t, serviceUnit))
	require.NotEmpty(t, read(t, f.Files, path.Join(f.Root, host.UnitDir, serviceUnit+".d/50-site.conf")))
}

func foreignMissing(t *testing.T, f ForeignUnitsFixture) {
	f.put(t, otherUnit, staying)
	require.Error(t, f.Foreign.EnableIn(t.Context(), f.Root, absentUnit))
	require.False(t, f.wanted(t, absentUnit))
	noError(t, f.Foreign.DisableIn(t.Context(), f.Root, absentUnit))
}

func foreignUnwanted(t *testing.T, f ForeignUnitsFixture) {
	f.put(t, serviceUnit, passing)
	require.ErrorContains(t, f.Foreign.EnableIn(t.Context(), f.Root, serviceUnit), serviceUnit)
	require.False(t, f.wanted(t, serviceUnit))
}

func foreignOthers(t *testing.T, f ForeignUnitsFixture) {
	for _, unit := range []string{serviceUnit, otherUnit} {
		f.put(t, unit, staying)
		noError(t, f.Foreign.EnableIn(t.Context(), f.Root, unit))
	}
	noError(t, f.Foreign.DisableIn(t.Context(), f.Root, serviceUnit))
	require.True(t, f.wanted(t, otherUnit))
}
