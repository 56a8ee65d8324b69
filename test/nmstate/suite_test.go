//go:build nmstate

package nmstate

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nmtest"
	"github.com/lifecycle-agent/lifecycle-agent/test/interop/sources"
)

const (
	upstream = "nmstate/nmstate"
	moduleOf = "tests/integration/"
	// programs are where "make build" puts them, results where a later run finds those of an earlier one.
	programs = "../../build/bin"
	results  = "../../build/nmstate/results"
	page     = "../../docs/nmstate-suite.md"
)

// The suite, module by module. A module whose tests pass less often than docs/nmstate-suite.md says fails the run; the
// page is written anew when all modules have a result. NMSTATE_MODULES names those to run ("dns veth"); others keep theirs.
func TestSuite(t *testing.T) {
	src := sources.Open(t, upstream)
	root := suiteRoot(t)
	tree := assemble(t, src)
	s := summary{Version: version(src), Commit: src.Commit, Date: src.Date()}
	before := readPage(t)
	c := newClassifier(t)
	for _, module := range modules(src) {
		t.Run(strings.TrimSuffix(module, "_test.py"), func(t *testing.T) {
			report := filepath.Join(absolute(t, results), strings.ReplaceAll(strings.TrimSuffix(module, "_test.py"), "/", "_"))
			if chosen(module) {
				runModule(t, module, root, tree, report)
			}
			r := c.judge(t, module, report)
			s.Modules = append(s.Modules, r)
			t.Log(r)
			if least, ok := before[r.Name]; ok && r.Passed < least {
				t.Errorf("%d tests pass, %d did when %s was written", r.Passed, least, page)
			}
		})
	}
	s.write(t)
}

// modules are the files with tests, those below nm last.
func modules(src sources.Source) (out []string) {
	for _, file := range src.List(strings.TrimSuffix(moduleOf, "/"), "*_test.py") {
		out = append(out, strings.TrimPrefix(file, moduleOf))
	}
	slices.SortFunc(out, func(a, b string) int {
		return strings.Compare(strings.Repeat("~", strings.Count(a, "/"))+a, strings.Repeat("~", strings.Count(b, "/"))+b)
	})
	return out
}

// chosen says whether a module is to run.
func chosen(module string) bool {
	only := strings.Fields(os.Getenv("NMSTATE_MODULES"))
	return len(only) == 0 || slices.Contains(only, strings.TrimSuffix(module, "_test.py"))
}

func suiteRoot(t *testing.T) string {
	t.Helper()
	root := os.Getenv(nmtest.EnvRoot)
	if root == "" {
		root = absolute(t, "../../build/nmstate/root")
	}
	if _, err := os.Stat(filepath.Join(root, "usr/bin/pytest-3")); err != nil {
		t.Skipf("reason: %s has no pytest; run test/nmstate/root.sh, or name a root with %s", root, nmtest.EnvRoot)
	}
	return root
}

// assemble lays the suite out: upstream's tests, examples and Python library, its C functions replaced, and our programs.
func assemble(t *testing.T, src sources.Source) string {
	t.Helper()
	tree := src.Export("tests", "examples", "rust/src/python/libnmstate")
	require.NoError(t, os.MkdirAll(filepath.Join(tree, "python"), 0o755))
	require.NoError(t, os.Rename(filepath.Join(tree, "rust/src/python/libnmstate"), filepath.Join(tree, "python/libnmstate")))
	require.NoError(t, os.CopyFS(filepath.Join(tree, "shim"), os.DirFS("shim")))
	require.NoError(t, os.Remove(filepath.Join(tree, "python/libnmstate/clib_wrapper.py")))
	require.NoError(t, os.Rename(filepath.Join(tree, "shim/clib_wrapper.py"), filepath.Join(tree, "python/libnmstate/clib_wrapper.py")))
	require.NoError(t, os.MkdirAll(filepath.Join(tree, "bin"), 0o755))
	for _, name := range []string{"lca-cli", "kubectl-lca"} {
		data, err := os.ReadFile(filepath.Join(programs, name))
		require.NoError(t, err, "run make build")
		require.NoError(t, os.WriteFile(filepath.Join(tree, "bin", name), data, 0o755))
	}
	for _, name := range []string{"nmstatectl", "rpm"} {
		require.NoError(t, os.Chmod(filepath.Join(tree, "shim/bin", name), 0o755))
	}
	return tree
}

func version(src sources.Source) string { return strings.TrimSpace(string(src.Read("VERSION"))) }

// runModule runs a copy of this binary for one module; it has its own host name, too.
func runModule(t *testing.T, module, root, tree, report string) {
	t.Helper()
	require.NoError(t, os.RemoveAll(report))
	require.NoError(t, os.MkdirAll(report, 0o755))
	self, err := os.Executable()
	require.NoError(t, err)
	settings := []string{envModule + "=" + module, envTree + "=" + tree, envReport + "=" + report, nmtest.EnvRoot + "=" + root}
	if kernel := os.Getenv(envKernel); kernel != "" {
		runGuest(t, absolute(t, kernel), self, settings, report)
		return
	}
	cmd := exec.Command(self, "-test.run", "^TestModule$", "-test.v", "-test.timeout", (moduleTime + moduleTime).String())
	cmd.Env = append(os.Environ(), settings...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUTS, Pdeathsig: syscall.SIGTERM}
	out, err := cmd.CombinedOutput()
	require.NoError(t, os.WriteFile(filepath.Join(report, "run.txt"), out, 0o600))
	require.NoError(t, err, "%s", out)
	if bytes.Contains(out, []byte("--- SKIP")) {
		t.Skipf("reason: %s", out)
	}
}

func absolute(t *testing.T, name string) string {
	t.Helper()
	at, err := filepath.Abs(name)
	require.NoError(t, err)
	return at
}

// outcome is one line that the shim's plug-in has written.
type outcome struct {
	Test    string  `json:"test"`
	Outcome string  `json:"outcome"`
	Text    string  `json:"text"`
	Seconds float64 `json:"seconds"`
	Calls   []call  `json:"calls"`
}

// call is a refusal of one of our programs.
type call struct {
	Verb     string `json:"verb"`
	Document string `json:"document"`
	Said     string `json:"said"`
}

func readOutcomes(t *testing.T, report string) (out []outcome) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(report, "tests.jsonl"))
	if err != nil {
		return nil
	}
	for line := range bytes.Lines(data) {
		var o outcome
		require.NoError(t, json.Unmarshal(line, &o))
		out = append(out, o)
	}
	return out
}
