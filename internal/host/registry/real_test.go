package registry_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/registry"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/image"
)

// real starts Debian's registry and returns its name.
func real(t *testing.T) string {
	t.Helper()
	for _, program := range []string{"docker-registry", "skopeo"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("reason: %s is not installed", program)
		}
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	at := l.Addr().String()
	require.NoError(t, l.Close())
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil,
		"version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: %s}\n", dir, at), 0o600))
	cmd := exec.CommandContext(t.Context(), "docker-registry", "serve", config)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	require.Eventually(t, func() bool {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at+"/v2/", nil)
		if err != nil {
			return false
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return false
		}
		return resp.Body.Close() == nil
	}, 20*time.Second, 50*time.Millisecond)
	return at
}

// Another client pulls what was pushed, in several pieces, to a real registry.
func TestSkopeoPullsWhatWasPushed(t *testing.T) {
	at := real(t)
	r := registry.New(registry.Options{Files: files.New(t.TempDir()), Log: slog.New(slog.DiscardHandler), Chunk: 256 << 10})
	repo, err := r.Open(t.Context(), host.RegistryAccess{Image: at + "/team/seed:1", Push: true})
	require.NoError(t, err)
	large := content(1 << 20)
	publish := func() image.Published {
		p := &image.Publisher{Repository: repo, Tag: "1"}
		require.NoError(t, p.Add(t.Context(), image.Bytes("var.tgz", 0o600, large)))
		require.NoError(t, p.Add(t.Context(), image.Bytes("manifest.json", 0o644, []byte("{}"))))
		done, err := p.Finish(t.Context(), "amd64", map[string]string{image.LabelFormat: image.FormatVersion, image.LabelCluster: "{}"})
		require.NoError(t, err)
		return done
	}
	first := publish()
	require.Positive(t, first.Sent)
	again := publish()
	require.Equal(t, first.Digest, again.Digest)
	require.Zero(t, again.Sent, "nothing is sent twice")

	to := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "skopeo", "copy", "--insecure-policy", "--src-tls-verify=false",
		"docker://"+at+"/team/seed:1", "dir:"+to).CombinedOutput()
	require.NoError(t, err, "%s", out)
	layer, err := os.ReadFile(filepath.Join(to, strings.TrimPrefix(first.Layers[0].Digest, "sha256:")))
	require.NoError(t, err)
	require.True(t, bytes.Contains(layer, large[:4096]))
}

// A piece that is cut off in the middle costs a new beginning here: this registry drops an upload whose last answer got
// lost. The blob is whole all the same.
func TestAnUploadToARealRegistrySurvivesACut(t *testing.T) {
	at := real(t)
	proxy := cutting(t, at, 3)
	r := registry.New(registry.Options{Files: files.New(t.TempDir()), Chunk: 256 << 10, Pause: 10 * time.Millisecond})
	repo, err := r.Open(t.Context(), host.RegistryAccess{Image: proxy.name + "/seed:1", Push: true})
	require.NoError(t, err)
	data := content(2 << 20)
	digest, size, err := repo.Put(t.Context(), source(data))
	require.NoError(t, err)
	require.EqualValues(t, len(data), size)
	require.True(t, proxy.cut.Load(), "the connection was never cut")
	require.LessOrEqual(t, proxy.begun.Load(), int32(3), "one proves the right to write, one is cut, one sends the blob")
	back, err := get(t, repo, digest)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, back))
}
