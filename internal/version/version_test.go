package version

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestABuildFromATree(t *testing.T) {
	record := &debug.BuildInfo{GoVersion: "go1.26", Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-11-25T00:00:00Z"}, {Key: "vcs.modified", Value: "true"}}}
	require.Equal(t, "devel (commit abc-modified of 2026-11-25T00:00:00Z, go1.26)", of(record).String())
}

func TestARelease(t *testing.T) {
	t.Cleanup(func() { release, commit, date = "", "", "" })
	release, commit, date = "v1.2.3", "abc", "2026-11-25"
	require.Equal(t, Info{"v1.2.3", "abc", "2026-11-25", "go1.26"}, of(&debug.BuildInfo{GoVersion: "go1.26"}))
}

func TestABuildWithoutARecord(t *testing.T) {
	require.Equal(t, Info{Version: "unknown", Commit: "unknown", Date: "unknown"}, of(&debug.BuildInfo{}))
}
