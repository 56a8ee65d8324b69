package recert

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Files that a run writes keep their modes, under another name too.
func TestFilesKeepTheirModes(t *testing.T) {
	w := newWorld(t)
	withConfig(t, w, map[string]any{"hostname": "tower"})
	modes := []fs.FileMode{0o600, 0o640, 0o644, 0o755}
	before := map[string]fs.FileMode{}
	for i, p := range slices.Sorted(maps.Keys(w.files)) {
		f := w.files[p]
		f.mode = modes[i%len(modes)]
		w.files[p], before[p] = f, f.mode
	}
	old := w.clone()
	plan, err := engine(w).Apply(t.Context(), configPath)
	require.NoError(t, err)
	for p, mode := range before {
		if f, ok := w.files[p]; ok {
			require.Equal(t, mode, f.mode, p)
		}
	}
	renamed, rewritten := 0, 0
	for _, f := range plan.files {
		if was, ok := before[f.path]; !ok {
			renamed++
		} else if was != 0o600 && string(old.files[f.path].data) != string(f.data) {
			rewritten++
		}
	}
	require.Positive(t, renamed, "files are called by the node's new name")
	require.Greater(t, rewritten, 3, "files that anyone may read are rewritten")
	for _, at := range plan.stale {
		to, _ := plan.Node.File(path.Base(at))
		require.Equal(t, before[at], w.files[path.Join(path.Dir(at), to)].mode, at)
	}
	require.Equal(t, fs.FileMode(0o600), w.files[host.RecertSummary].mode, "the report is for root alone")
}
