// Package sources reads the files of other projects for tests, from git directories that INTEROP_SRC names.
package sources

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Variable names the folder with the other projects. It has no default: what is not named is skipped.
const Variable = "INTEROP_SRC"

// Source is a project's files at one commit.
type Source struct {
	t      testing.TB
	gitDir string
	Commit string
}

// Open finds the project owner/name below INTEROP_SRC, as owner+name: a git directory, one with the name repo in it, or a clone.
func Open(t testing.TB, project string) Source {
	t.Helper()
	root := os.Getenv(Variable)
	if root == "" {
		t.Skipf("reason: %s names no folder with git directories of other projects; %s is needed", Variable, project)
	}
	at := filepath.Join(root, strings.ReplaceAll(project, "/", "+"))
	for _, dir := range []string{at, filepath.Join(at, "repo"), filepath.Join(at, ".git")} {
		s := Source{t: t, gitDir: dir}
		if commit, err := s.git("rev-parse", "--verify", "HEAD"); err == nil {
			s.Commit = strings.TrimSpace(string(commit))
			t.Logf("%s at %s", project, s.Commit)
			return s
		}
	}
	t.Skipf("reason: %s has no git directory of %s", Variable, project)
	return Source{}
}

func (s Source) git(args ...string) ([]byte, error) {
	if _, err := os.Stat(filepath.Join(s.gitDir, "HEAD")); err != nil {
		return nil, err
	}
	return exec.Command("git", append([]string{"--git-dir=" + s.gitDir}, args...)...).Output()
}

// Date is the day of the commit.
func (s Source) Date() string {
	s.t.Helper()
	text, err := s.git("show", "--no-patch", "--format=%cs", "HEAD")
	require.NoError(s.t, err)
	return strings.TrimSpace(string(text))
}

// List yields the files of a folder that match a pattern of file names.
func (s Source) List(folder, pattern string) (out []string) {
	s.t.Helper()
	text, err := s.git("ls-tree", "-r", "--name-only", "HEAD", folder+"/")
	require.NoError(s.t, err)
	for name := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n") {
		if ok, _ := path.Match(pattern, path.Base(name)); ok {
			out = append(out, name)
		}
	}
	require.NotEmpty(s.t, out, "%s has files %s", folder, pattern)
	return out
}

// Read is the text of a file.
func (s Source) Read(name string) []byte {
	s.t.Helper()
	text, err := s.git("show", "HEAD:"+name)
	require.NoError(s.t, err, name)
	return text
}

// Export writes folders of the project below a folder of the test.
func (s Source) Export(folders ...string) string {
	s.t.Helper()
	to := s.t.TempDir()
	const script = `set -o pipefail; git --git-dir="$1" archive HEAD -- "${@:3}" | tar -x -C "$2"`
	out, err := exec.Command("bash", append([]string{"-c", script, "export", s.gitDir, to}, folders...)...).CombinedOutput()
	require.NoError(s.t, err, "%s", out)
	return to
}
