//go:build lab

package scenario

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/containerimage"
	"github.com/lifecycle-agent/lifecycle-agent/lab/drive"
)

// TestFromTheReleaseFilesAlone goes the way of somebody who has the files of a release and nothing else: install-openshift.yaml is
// applied on a node that has nothing of the product, and kubectl lca plans a change, asks for it, and keeps it.
func TestFromTheReleaseFilesAlone(t *testing.T) {
	tool(t, "systemd-nspawn")
	long(t)
	ctx, l, d := node(t, "scenario-release")
	installRelease(ctx, t, l)
	at := kubectlLCA{t, l, filepath.Join(t.TempDir(), "kubeconfig")}

	at.server(home.String())
	flags := []string{"--ipv4-address", away.String(), "--ipv4-machine-network", awayNetwork, "--ipv4-gateway", "198.51.100.1",
		"--dns-server", "198.51.100.53"}
	until(ctx, t, "a plan", func() bool {
		out, err := at.run(ctx, append([]string{"plan"}, flags...)...)
		return err == nil && strings.Contains(out, away.String())
	})
	out, err := at.run(ctx, append([]string{"change"}, flags...)...)
	require.NoError(t, err, out)
	_, err = d.Until(ctx, "a completed change", drive.Is(lcav1.ConditionConfigCompleted))
	require.NoError(t, err)

	at.server(away.String())
	out, err = at.run(ctx, "status")
	require.NoError(t, err, out)
	t.Log(out)
	out, err = at.run(ctx, "keep", "--watch")
	require.NoError(t, err, out)
	require.Equal(t, 1, strings.Count(in(ctx, t, l, "ls", "/ostree/deploy"), "rhcos"), "one stateroot is left")
	require.True(t, drive.Look(ctx, l, away).API)
}

// installRelease applies the file of a release for OpenShift, but for the kinds of Prometheus' operator, which the lab does not have.
func installRelease(ctx context.Context, t *testing.T, l *lab.Lab) {
	t.Helper()
	removeProduct(ctx, t, l)
	bin, dist := filepath.Join(root(t), "build", "bin"), t.TempDir()
	release := exec.CommandContext(ctx, "go", "run", "./hack/release", "-image", productImage+":1", "-out", dist)
	release.Dir = root(t)
	out, err := release.CombinedOutput()
	require.NoError(t, err, string(out))
	image, err := containerimage.Build(filepath.Join(root(t), "Containerfile"), bin, productImage+":1")
	require.NoError(t, err)
	require.NoError(t, l.ImportImage(ctx, image))
	require.NoError(t, l.StartWorkloads(ctx, bin))
	text, err := os.ReadFile(filepath.Join(dist, "install-openshift.yaml"))
	require.NoError(t, err)
	var documents []string
	for _, document := range strings.Split(string(text), "\n---\n") {
		if !strings.Contains(document, "apiVersion: monitoring.coreos.com/v1\n") {
			documents = append(documents, document)
		}
	}
	began := time.Now()
	applied, err := l.Apply(ctx, strings.NewReader(strings.Join(documents, "\n---\n")))
	require.NoError(t, err)
	bothReady(ctx, t, apiAt(t, l, home))
	t.Logf("%d objects applied; both roles are ready after %s", len(applied), time.Since(began).Round(time.Second))
}

// kubectlLCA runs the plugin on the node's LAN.
type kubectlLCA struct {
	t    *testing.T
	lab  *lab.Lab
	file string
}

// server writes a kubeconfig for the API at an address.
func (k kubectlLCA) server(address string) {
	k.t.Helper()
	text, err := os.ReadFile(k.lab.Kubeconfig())
	require.NoError(k.t, err)
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		if before, _, found := strings.Cut(line, "server:"); found {
			lines[i] = before + "server: https://" + address + ":6443"
		}
	}
	require.NoError(k.t, os.WriteFile(k.file, []byte(strings.Join(lines, "\n")), 0o600))
}

func (k kubectlLCA) run(ctx context.Context, args ...string) (string, error) {
	plugin := filepath.Join(root(k.t), "build", "bin", "kubectl-lca")
	argv := append([]string{"netns", "exec", k.lab.Net.LAN(), plugin, "--kubeconfig", k.file}, args...)
	out, err := exec.CommandContext(ctx, "ip", argv...).CombinedOutput()
	k.t.Logf("kubectl lca %s: %v\n%s", strings.Join(args, " "), err, out)
	return string(out), err
}
