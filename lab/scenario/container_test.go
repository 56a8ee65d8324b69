//go:build lab

package scenario

import (
	"archive/tar"
	"context"
	"encoding/json"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/drive"
	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
)

// Images that nobody has to pull.
const (
	recertImage = "localhost/lab/recert:1"
	etcdImage   = "localhost/lab/etcd:1"
)

// A machine in a container cannot grant what podman asks for as root, nor count processes.
const containersConf = `[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
pids_limit = 0
[engine]
runtime = "runc"
`

// TestRecertInAContainer changes a node's address with an image in the native engine's place: named by annotation, made known
// as cached, run once beside the cluster's own etcd after the new stateroot has booted.
func TestRecertInAContainer(t *testing.T) {
	tool(t, "systemd-nspawn")
	ctx, l, d := node(t, "scenario-container")
	in(ctx, t, l, "sh", "-c", "mkdir -p /etc/containers /etc/ssh /etc/pki && "+
		"printf '%s' '"+containersConf+"' > /etc/containers/containers.conf")
	programs := t.TempDir()
	build := exec.CommandContext(ctx, "go", "build", "-o", programs+"/", "./testdata/recert", "../../internal/host/podman/testdata/image")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	bin := filepath.Join(root(t), "build", "bin")
	importImage(ctx, t, l, recertImage, map[string]string{
		"recert": filepath.Join(programs, "recert"), "lca-cli": filepath.Join(bin, "lca-cli")})
	importImage(ctx, t, l, etcdImage, map[string]string{"etcdctl": filepath.Join(programs, "image"), "etcd": filepath.Join(bin, "etcd")})
	runEtcdFrom(ctx, t, l, etcdImage)

	annotate := object{"metadata": object{"annotations": object{lcav1.RecertImageAnnotation: recertImage}}}
	until(ctx, t, "an API that takes the annotation", func() bool { return d.Patch(ctx, annotate) == nil })
	_, err = d.Until(ctx, "the image on the node", func(ipc *lcav1.IPConfig) bool {
		return ipc.Annotations[lcav1.RecertImageCachedAnnotation] == recertImage
	})
	require.NoError(t, err)
	require.NoError(t, d.Patch(ctx, move()))
	_, err = d.Until(ctx, "a completed change", drive.Is(lcav1.ConditionConfigCompleted))
	require.NoError(t, err)
	nodeIsAt(ctx, t, l, []netip.Addr{away}, []netip.Addr{home})

	var call struct {
		Args, Interfaces []string
		Config           string
	}
	require.NoError(t, json.Unmarshal([]byte(in(ctx, t, l, "cat", "/var/tmp/recert-call.json")), &call))
	require.Empty(t, call.Args, "the image's own entrypoint, and nothing more")
	require.Equal(t, "/var/lib/lca/workspace/recert_config.json", call.Config)
	require.Equal(t, []string{"lo"}, call.Interfaces, "nobody else reaches an etcd without passwords")
	require.Empty(t, in(ctx, t, l, "podman", "ps", "--all", "--quiet"), "no container is left")
	require.Contains(t, in(ctx, t, l, "cat", "/var/tmp/recert-summary.yaml"), "subject: CN=", "the image's report")
	require.False(t, says(ctx, l, "test -e /var/lib/lca/workspace/recert-container.log"), "what the image wrote may hold secrets")
	keep(ctx, t, d)
}

// importImage makes an image of programs, all at its top, and the name of the first program what it runs.
func importImage(ctx context.Context, t *testing.T, l *lab.Lab, name string, programs map[string]string) {
	t.Helper()
	archive, packed := io.Pipe()
	go func() { packed.CloseWithError(pack(packed, programs)) }()
	entry := `ENTRYPOINT ["/recert"]`
	res, err := l.Machine.Exec(ctx, machine.Command{Stdin: archive, Argv: []string{"podman", "import", "--quiet",
		"--change", "ENV PATH=/", "--change", entry, "-", name}})
	require.NoError(t, err)
	require.Zero(t, res.ExitCode, res.Stderr)
}

func pack(to io.Writer, programs map[string]string) error {
	w := tar.NewWriter(to)
	for name, path := range programs {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}); err != nil {
			return err
		}
		if _, err := w.Write(content); err != nil {
			return err
		}
	}
	return w.Close()
}

// runEtcdFrom gives the image of the running etcd a name that podman can have as well: the lab's own name is by a digest that
// no image has, which containerd believes. The node takes it up when it boots.
func runEtcdFrom(ctx context.Context, t *testing.T, l *lab.Lab, image string) {
	t.Helper()
	const manifest = "/etc/kubernetes/manifests/etcd-pod.yaml"
	in(ctx, t, l, "sh", "-c", "systemctl stop kubelet && "+
		"ctr --namespace k8s.io images tag $(sed -n 's/^ *image: //p' "+manifest+" | sort -u) "+image+
		" && sed -i \"s|image: .*|image: "+image+"|\" "+manifest)
	require.NoError(t, l.Machine.Stop(ctx))
	require.NoError(t, l.Machine.Start(ctx))
	until(ctx, t, "etcd from "+image, func() bool {
		return drive.Look(ctx, l, home).API && says(ctx, l, "ctr --namespace k8s.io containers ls | grep -q "+image)
	})
}
