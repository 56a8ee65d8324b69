package podman

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd/etcdtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hostcontract"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/run"
)

// machine is a root with a stopped cluster, the machine's own podman with a storage of its own, and a registry on the
// loopback that stands in for registry.example.com.
type machine struct {
	t        *testing.T
	root     string
	podman   string
	etcd     string // its image
	registry *registry
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("reason: containers with the host's folders need root")
	}
	for _, program := range []string{"podman", "runc"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("reason: %s is missing on this machine (make host-packages)", program)
		}
	}
	t.Attr("uses", "podman")
	m := &machine{t: t, root: t.TempDir(), registry: newRegistry(t)}
	m.registry.push(t, "recert", "v0", [][2]string{{"recert", imageProgram}})
	digest := m.registry.push(t, "etcd", "v3", [][2]string{{"etcd", etcdtest.Binary(t)}, {"etcdctl", imageProgram}})
	m.etcd = "registry.example.com/etcd@" + digest
	for _, dir := range append(mounts, [2]string{host.EtcdData}, [2]string{host.Workspace}) {
		require.NoError(t, os.MkdirAll(filepath.Join(m.root, dir[0]), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(m.root, dir[0], "marker"), []byte(dir[0]), 0o644))
	}
	require.NoError(t, os.Remove(filepath.Join(m.root, host.EtcdData, "marker")))
	require.NoError(t, m.files().Write(host.RecertConfig, []byte(`{"ip_change_only": true}`), 0o600))
	m.install()
	out, err := exec.Command(m.podman, "pull", "--quiet", m.etcd).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return m
}

// install writes the podman that the engine calls: the machine's, kept away from the machine's own images.
func (m *machine) install() {
	dir := etcdtest.ShortDir(m.t)
	mirrors := fmt.Sprintf("[[registry]]\nprefix = \"registry.example.com\"\nlocation = %q\ninsecure = true\n",
		strings.TrimPrefix(m.registry.URL, "http://"))
	require.NoError(m.t, os.WriteFile(filepath.Join(dir, "registries.conf"), []byte(mirrors), 0o644))
	// A machine that is a container itself grants no higher limits, which podman asks for as root; and of the runtimes only
	// runc takes cgroups of both versions at once.
	limits := "[containers]\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=1024:1024\"]\n[engine]\nruntime = \"runc\"\n"
	require.NoError(m.t, os.WriteFile(filepath.Join(dir, "containers.conf"), []byte(limits), 0o644))
	m.podman = filepath.Join(dir, "podman")
	script := fmt.Sprintf("#!/bin/sh\nexport CONTAINERS_REGISTRIES_CONF=%[1]s/registries.conf CONTAINERS_CONF=%[1]s/containers.conf\n"+
		"exec podman --root %[1]s/storage --runroot %[1]s/run --tmpdir %[1]s/tmp --storage-driver vfs --cgroup-manager cgroupfs \"$@\"\n", dir)
	require.NoError(m.t, os.WriteFile(m.podman, []byte(script), 0o755))
	m.t.Cleanup(func() {
		if out, err := exec.Command(m.podman, "rm", "--all", "--force", "--time", "5").CombinedOutput(); err != nil {
			m.t.Logf("remove what is left of the containers: %v: %s", err, out)
		}
	})
}

func (m *machine) files() host.Files { return files.New(m.root) }

func (m *machine) images() *Images {
	return New(Options{
		Runner: run.New(run.Options{}), Files: m.files(), Podman: m.podman, Root: m.root,
		EtcdImage: func() (string, error) { return m.etcd, nil },
	})
}

// call is what testdata/image records of a run.
type call struct {
	Args       []string
	Config     string
	Mounts     map[string]string
	Interfaces []string
	Etcd       string
}

func (m *machine) calls() []call {
	return records[call](m.t, filepath.Join(m.root, "/var/tmp/calls.jsonl"))
}

func TestContractOfContainers(t *testing.T) {
	hostcontract.TestRecertImages(t, func(t *testing.T) hostcontract.RecertImagesFixture {
		m := newMachine(t)
		before := m.registry.pulls.Load()
		return hostcontract.RecertImagesFixture{
			Images: m.images(), Files: m.files(), Config: host.RecertConfig,
			Pulls: func() int { return int(m.registry.pulls.Load() - before) }, Runs: func() int { return len(m.calls()) },
			Break: func() { require.NoError(t, os.WriteFile(filepath.Join(m.root, "/var/tmp/breaks"), nil, 0o644)) },
		}
	})
}

// TestWhatTheImageSees runs an image that records what it is given: the reference's mounts and environment, an etcd over
// the cluster's data, and a network that nobody else is in.
func TestWhatTheImageSees(t *testing.T) {
	m := newMachine(t)
	image := host.RecertImage{Name: hostcontract.FieldImage}
	require.NoError(t, m.images().Fetch(t.Context(), image))
	require.NoError(t, m.images().Engine(image).Run(t.Context(), host.RecertConfig))
	want := map[string]string{}
	for _, mount := range mounts {
		want[mount[1]] = mount[0]
	}
	require.Equal(t, []call{{Args: []string{}, Config: host.RecertConfig, Mounts: want, Interfaces: []string{"lo"}, Etcd: "healthy"}}, m.calls())
	require.DirExists(t, filepath.Join(m.root, host.EtcdData, "member"), "etcd worked on the cluster's data")
	summary, err := m.files().Read(host.RecertSummary)
	require.NoError(t, err)
	require.Equal(t, "recert_config: 24 bytes\n", string(summary))
	require.Eventually(t, func() bool { // podman removes a container after its end
		left, err := exec.Command(m.podman, "ps", "--all", "--quiet").Output()
		return err == nil && strings.TrimSpace(string(left)) == ""
	}, time.Minute, 100*time.Millisecond, "no container is left")
}
