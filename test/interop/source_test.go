//go:build interop

package interop

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Variables by which the other projects are found. Neither has a default: what is not named is skipped.
const (
	sources  = "INTEROP_SRC"
	programs = "INTEROP_BIN"
)

// source is a project's files at one commit.
type source struct {
	t      testing.TB
	gitDir string
	Commit string
}

// open finds the project owner/name below INTEROP_SRC, as owner+name: a git directory, one with the name repo in it, or a clone.
func open(t testing.TB, project string) source {
	t.Helper()
	root := os.Getenv(sources)
	if root == "" {
		t.Skipf("reason: %s names no folder with git directories of other projects; %s is needed", sources, project)
	}
	at := filepath.Join(root, strings.ReplaceAll(project, "/", "+"))
	for _, dir := range []string{at, filepath.Join(at, "repo"), filepath.Join(at, ".git")} {
		s := source{t: t, gitDir: dir}
		if commit, err := s.git("rev-parse", "--verify", "HEAD"); err == nil {
			s.Commit = strings.TrimSpace(string(commit))
			t.Logf("%s at %s", project, s.Commit)
			return s
		}
	}
	t.Skipf("reason: %s has no git directory of %s", sources, project)
	return source{}
}

func (s source) git(args ...string) ([]byte, error) {
	if _, err := os.Stat(filepath.Join(s.gitDir, "HEAD")); err != nil {
		return nil, err
	}
	return exec.Command("git", append([]string{"--git-dir=" + s.gitDir}, args...)...).Output()
}

// list yields the files of a folder that match a pattern of file names.
func (s source) list(folder, pattern string) (out []string) {
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

func (s source) read(name string) []byte {
	s.t.Helper()
	text, err := s.git("show", "HEAD:"+name)
	require.NoError(s.t, err, name)
	return text
}

// export writes folders of the project below a folder of the test.
func (s source) export(folders ...string) string {
	s.t.Helper()
	to := s.t.TempDir()
	const script = `set -o pipefail; git --git-dir="$1" archive HEAD -- "${@:3}" | tar -x -C "$2"`
	out, err := exec.Command("bash", append([]string{"-c", script, "export", s.gitDir, to}, folders...)...).CombinedOutput()
	require.NoError(s.t, err, "%s", out)
	return to
}

// objects decodes YAML, one object or many.
func objects(t testing.TB, data []byte) (out []*unstructured.Unstructured) {
	t.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		if len(o.Object) > 0 {
			out = append(out, o)
		}
	}
}

// program is another project's program, built by its own instructions.
func program(t testing.TB, name string) string {
	t.Helper()
	root := os.Getenv(programs)
	if root == "" {
		t.Skipf("reason: %s names no folder with programs of other projects; %s is needed", programs, name)
	}
	file := filepath.Join(root, name)
	if _, err := os.Stat(file); err != nil {
		t.Skipf("reason: %s has no program %s", programs, name)
	}
	return file
}
