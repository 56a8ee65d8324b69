package recert_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert"
)

// TestLabNothingElseChanged compares both stateroots of a node after recert and before the cluster has run again: every key
// of etcd and every file of recert's folders in which they differ is one that the report names.
func TestLabNothingElseChanged(t *testing.T) {
	if os.Getenv("LCA_LAB_NODE") != "1" {
		t.Skip("reason: compares the stateroots of a node in the middle of a change: " +
			"LCA_LAB_LONG=1 go test -tags lab -run TestNothingElseChanged ./lab/scenario")
	}
	var report struct {
		Config struct {
			Dirs []string `json:"dirs"`
		} `json:"recert_config"`
		Plan recert.Plan `json:"plan"`
	}
	data, err := os.ReadFile(host.RecertSummary)
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(data, &report))
	named := map[string]bool{}
	for _, c := range report.Plan.Changes {
		named[strings.Fields(c.Where)[0]] = true
	}
	require.Greater(t, len(named), 10, "the change was a real one")

	old := oldStateroot(t)
	before, after := keysOf(t, filepath.Join(old, host.EtcdData)), keysOf(t, host.EtcdData)
	require.Greater(t, len(before), 50)
	require.Positive(t, requireNamed(t, named, before, after), "keys of etcd differ")

	files := 0
	for _, dir := range report.Config.Dirs {
		files += requireNamed(t, named, filesOf(t, inOld(t, old, dir), dir), filesOf(t, dir, dir))
	}
	require.Positive(t, files, "files differ")
}

// requireNamed says that whatever differs is named, and how much of what was there does.
func requireNamed(t *testing.T, named map[string]bool, before, after map[string]string) (differ int) {
	t.Helper()
	for k, v := range before {
		if now, ok := after[k]; !ok || now != v {
			require.True(t, named[k], "%s changed (it is still there: %v), and the report does not say so", k, ok)
			differ++
		}
	}
	for k := range after {
		_, old := before[k]
		require.True(t, old || named[k], "%s is new, and the report does not say so", k)
	}
	return differ
}

// oldStateroot is the folder of the stateroot that the node came from.
func oldStateroot(t *testing.T) string {
	t.Helper()
	roots, err := filepath.Glob(filepath.Join(host.DeployDir, "*"))
	require.NoError(t, err)
	roots = slices.DeleteFunc(roots, func(r string) bool { return strings.Contains(r, "_ipc-") })
	require.Len(t, roots, 1)
	return roots[0]
}

// inOld is where a folder of the running system lies in the old stateroot.
func inOld(t *testing.T, old, dir string) string {
	t.Helper()
	if strings.HasPrefix(dir, "/var/") {
		return filepath.Join(old, dir)
	}
	deployments, err := filepath.Glob(filepath.Join(old, "deploy", "*.0"))
	require.NoError(t, err)
	require.Len(t, deployments, 1)
	return filepath.Join(deployments[0], dir)
}

// keysOf reads a copy of etcd's data.
func keysOf(t *testing.T, data string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "cp", "-a", data, filepath.Join(dir, "data")).CombinedOutput()
	require.NoError(t, err, string(out))
	run, err := os.MkdirTemp("/run", "compare")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(run) })
	session, err := etcd.New(etcd.Config{DataDir: filepath.Join(dir, "data"), RuntimeDir: filepath.Join(run, "etcd")}).Open(t.Context())
	require.NoError(t, err)
	keys := map[string]string{}
	require.NoError(t, session.Range(t.Context(), "", func(kv host.KeyValue) error {
		keys[kv.Key] = string(kv.Value)
		return nil
	}))
	require.NoError(t, session.Close(t.Context()))
	return keys
}

// filesOf reads all regular files below a folder, by their path in the running system.
func filesOf(t *testing.T, at, as string) map[string]string {
	t.Helper()
	contents := map[string]string{}
	err := filepath.WalkDir(at, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		contents[as+strings.TrimPrefix(path, at)] = string(data)
		return err
	})
	require.NoError(t, err)
	return contents
}
