package podman

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hostcontract"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/run"
)

var update = flag.Bool("update", false, "write the golden file anew")

const (
	etcdImage = "registry.example.com/etcd@sha256:1"
	pullAuth  = host.RecertPullSecret
)

// fakePodman is the program that records how it was called, imageProgram what real containers run; both are built once for all
// tests.
var fakePodman, imageProgram string

func TestMain(m *testing.M) { os.Exit(withPodman(m)) }

func withPodman(m *testing.M) int {
	dir, err := os.MkdirTemp("", "podman")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	fakePodman, imageProgram = filepath.Join(dir, "podman"), filepath.Join(dir, "image")
	build := exec.Command("go", "build", "-o", dir+"/", "./testdata/podman", "./testdata/image")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the programs that record: %v: %s\n", err, out)
		return 1
	}
	return m.Run()
}

// node is a root with a stopped cluster, and a podman with a state of its own.
type node struct {
	t         *testing.T
	root, bin string
	evidence  []run.Evidence
}

func newNode(t *testing.T) *node {
	t.Helper()
	n := &node{t: t, root: t.TempDir(), bin: t.TempDir()}
	program, err := os.ReadFile(fakePodman)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(n.bin, "podman"), program, 0o755))
	for _, dir := range append(mounts, [2]string{host.EtcdData}, [2]string{host.Workspace}) {
		require.NoError(t, os.MkdirAll(filepath.Join(n.root, dir[0]), 0o755))
	}
	n.image("images", etcdImage)
	n.image("registry", hostcontract.FieldImage)
	require.NoError(t, n.files().Write(host.RecertConfig, []byte(`{"ip_change_only": true}`), 0o600))
	return n
}

func (n *node) files() host.Files { return files.New(n.root) }

func (n *node) image(kind, name string) {
	at := podmanState{n.bin}.path(kind, name)
	require.NoError(n.t, errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, nil, 0o644)))
}

// podmanState names files as the program does.
type podmanState struct{ dir string }

func (p podmanState) path(kind, name string) string {
	return filepath.Join(p.dir, kind, strings.NewReplacer("/", "_", ":", "_").Replace(name))
}

func (n *node) images() *Images {
	return New(Options{
		Runner: run.New(run.Options{Observe: func(e run.Evidence) { n.evidence = append(n.evidence, e) }}), Files: n.files(),
		EtcdImage: func() (string, error) { return etcdImage, nil }, Podman: filepath.Join(n.bin, "podman"), Root: n.root,
	})
}

// lines are the lines of one of the program's records.
func (n *node) lines(name string) [][]string {
	return records[[]string](n.t, filepath.Join(n.bin, name))
}

// records reads a file of JSON lines; one that does not exist has none.
func records[T any](t *testing.T, file string) (out []T) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		var record T
		require.NoError(t, json.Unmarshal([]byte(line), &record))
		out = append(out, record)
	}
	return out
}

func (n *node) fixture() hostcontract.RecertImagesFixture {
	return hostcontract.RecertImagesFixture{
		Images: n.images(), Files: n.files(), Config: host.RecertConfig,
		Pulls: func() int { return len(n.lines("pulls")) }, Runs: func() int { return len(n.lines("runs")) },
		Break: func() { require.NoError(n.t, os.WriteFile(filepath.Join(n.bin, "breaks"), nil, 0o644)) },
	}
}

func TestContract(t *testing.T) {
	hostcontract.TestRecertImages(t, func(t *testing.T) hostcontract.RecertImagesFixture { return newNode(t).fixture() })
}

// TestPodmanIsCalledAsTheImageExpects holds every argument of a change from fetch to end against the golden file.
func TestPodmanIsCalledAsTheImageExpects(t *testing.T) {
	n := newNode(t)
	require.NoError(t, n.files().Write(pullAuth, []byte(`{"auths":{}}`), 0o600))
	image := host.RecertImage{Name: hostcontract.FieldImage, AuthFile: pullAuth}
	require.NoError(t, n.images().Fetch(t.Context(), image))
	require.NoError(t, n.images().Engine(image).Run(t.Context(), host.RecertConfig))
	var have strings.Builder
	for _, words := range n.lines("calls") {
		have.WriteString(strings.ReplaceAll("podman "+strings.Join(words, " "), n.root, "") + "\n")
	}
	golden := filepath.Join("testdata", "calls.txt")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(have.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), have.String())
	summary, err := n.files().Read(host.RecertSummary)
	require.NoError(t, err)
	require.Contains(t, string(summary), "recert_config: 24 bytes")
	require.NoFileExists(t, podmanState{n.bin}.path("containers", etcdContainer), "etcd is stopped")
}

// TestWhatTheImageWritesStaysOnTheNode: it handles every key of the cluster, so its words go into a file for root
// alone, never into an error or the journal.
func TestWhatTheImageWritesStaysOnTheNode(t *testing.T) {
	n := newNode(t)
	f := n.fixture()
	require.NoError(t, f.Images.Fetch(t.Context(), host.RecertImage{Name: hostcontract.FieldImage}))
	f.Break()
	err := f.Images.Engine(host.RecertImage{Name: hostcontract.FieldImage}).Run(t.Context(), host.RecertConfig)
	require.ErrorContains(t, err, "exit code 101")
	require.ErrorContains(t, err, host.Workspace+"/recert-container.log")
	seen := err.Error() + fmt.Sprint(n.evidence)
	for _, secret := range []string{"hush-hush", "c2VjcmV0", "PRIVATE KEY"} {
		require.NotContains(t, seen, secret)
	}
	at := filepath.Join(n.root, host.RecertContainerLog)
	info, err := os.Stat(at)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	text, err := os.ReadFile(at)
	require.NoError(t, err)
	require.Contains(t, string(text), "hush-hush", "root finds all of it there")
	require.NoFileExists(t, podmanState{n.bin}.path("containers", etcdContainer), "etcd is stopped")
}

func TestAPullSecretThatIsNotThereIsNotAskedFor(t *testing.T) {
	n := newNode(t)
	require.NoError(t, n.images().Fetch(t.Context(), host.RecertImage{Name: hostcontract.FieldImage, AuthFile: pullAuth}))
	for _, words := range n.lines("calls") {
		require.NotContains(t, words, "--authfile")
	}
}

func TestWithoutPodman(t *testing.T) {
	n := newNode(t)
	o := n.images().o
	o.Podman = "/nonexistent/podman"
	err := New(o).Fetch(t.Context(), host.RecertImage{Name: hostcontract.FieldImage})
	require.True(t, run.NotFound(err), "%v", err)
}
