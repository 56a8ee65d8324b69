package registry_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
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
	t.Attr("uses", "registry")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	at := l.Addr().String()
	require.NoError(t, l.Close())
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yml")
	certificate, key := pair(t)
	client := trusting(t)
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil,
		"version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: %s}}\n"+
			"http: {addr: %s, tls: {certificate: %s, key: %s}}\n", dir, at, certificate, key), 0o600))
	cmd := exec.CommandContext(t.Context(), "docker-registry", "serve", config)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	require.Eventually(t, func() bool {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+at+"/v2/", nil)
		if err != nil {
			return false
		}
		resp, err := client.Do(req)
		if err != nil {
			return false
		}
		return resp.Body.Close() == nil
	}, 2*time.Minute, 50*time.Millisecond)
	return at
}

// pair are files with the certificate of every server of httptest and its key.
func pair(t *testing.T) (certificate, key string) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	der, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	require.NoError(t, err)
	dir := t.TempDir()
	certificate, key = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	require.NoError(t, os.WriteFile(certificate, []byte(authority(t)), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
	return certificate, key
}

// trusting is a client that trusts it.
func trusting(t *testing.T) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM([]byte(authority(t))))
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}}
}

// Another client pulls what was pushed, in several pieces, to a real registry.
func TestSkopeoPullsWhatWasPushed(t *testing.T) {
	at := real(t)
	r := registry.New(registry.Options{Files: files.New(t.TempDir()), Log: slog.New(slog.DiscardHandler), Chunk: 256 << 10})
	repo, err := r.Open(t.Context(), host.RegistryAccess{Image: at + "/team/seed:1", CABundle: authority(t), Push: true})
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
	repo, err := r.Open(t.Context(), host.RegistryAccess{Image: proxy.name + "/seed:1", CABundle: authority(t), Push: true})
	require.NoError(t, err)
	data := content(2 << 20)
	_, size, err := repo.Put(t.Context(), source(data))
	require.NoError(t, err)
	require.EqualValues(t, len(data), size)
	require.True(t, proxy.cut.Load(), "the connection was never cut")
	require.LessOrEqual(t, proxy.begun.Load(), int32(3), "one proves the right to write, one is cut, one sends the blob")
	back, err := get(t, repo, data)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, back))
}
