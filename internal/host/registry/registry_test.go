package registry_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	inprocess "github.com/google/go-containerregistry/pkg/registry"
	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/registry"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/image"
)

// serve runs a registry behind a handler that may disturb it, and returns its name.
func serve(t *testing.T, disturb func(next http.Handler) http.Handler) string {
	t.Helper()
	h := inprocess.New(inprocess.Logger(log.New(io.Discard, "", 0)))
	if disturb != nil {
		h = disturb(h)
	}
	return secured(t, h)
}

// secured serves a handler over TLS. Every server of httptest has the same certificate, which signs itself.
func secured(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "https://")
}

// authority is the certificate of every server of httptest.
func authority(t *testing.T) string {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}

func options(t *testing.T) registry.Options {
	t.Helper()
	return registry.Options{Files: files.New(t.TempDir()), Chunk: 64 << 10, Pause: time.Millisecond, Stall: 2 * time.Second, Tries: 3}
}

func open(t *testing.T, at string) (host.Repository, error) {
	t.Helper()
	return registry.New(options(t)).Open(t.Context(), host.RegistryAccess{Image: at + "/team/seed:1", CABundle: authority(t), Push: true})
}

// content is incompressible and always the same.
func content(n int) []byte {
	data := make([]byte, n)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func source(data []byte) func(context.Context, io.Writer) error {
	return func(_ context.Context, w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(data))
		return err
	}
}

func put(t *testing.T, r host.Repository, data []byte) error {
	t.Helper()
	d, size, err := r.Put(t.Context(), source(data))
	if err == nil {
		require.Equal(t, digest(data), d)
		require.EqualValues(t, len(data), size)
	}
	return err
}

// get reads a blob of this content.
func get(t *testing.T, r host.Repository, data []byte) ([]byte, error) {
	t.Helper()
	body, err := r.Get(t.Context(), digest(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

func TestABlobComesBackAsItWas(t *testing.T) {
	for _, n := range []int{0, 1, 64 << 10, 64<<10 + 1, 1 << 20} {
		r, err := open(t, serve(t, nil))
		require.NoError(t, err)
		data := content(n)
		there, err := r.Has(t.Context(), digest(data))
		require.NoError(t, err)
		require.False(t, there)
		if n > 0 { // the in-process registry takes no empty blobs
			require.NoError(t, put(t, r, data))
			back, err := get(t, r, data)
			require.NoError(t, err)
			require.True(t, bytes.Equal(data, back))
		}
	}
}

func TestAManifestComesBackByTagAndDigest(t *testing.T) {
	r, err := open(t, serve(t, nil))
	require.NoError(t, err)
	_, err = r.Manifest(t.Context(), "1")
	require.ErrorIs(t, err, host.ErrNoImage)
	data := []byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","layers":[]}`)
	d, err := r.PutManifest(t.Context(), "1", "application/vnd.oci.image.manifest.v1+json", data)
	require.NoError(t, err)
	for _, name := range []string{"1", d} {
		m, err := r.Manifest(t.Context(), name)
		require.NoError(t, err)
		require.Equal(t, data, m.Data)
		require.Equal(t, digest(data), m.Digest)
	}
}

func TestAnUploadWhoseSourceBreaksIsGivenUp(t *testing.T) {
	r, err := open(t, serve(t, nil))
	require.NoError(t, err)
	boom := errors.New("disk broke")
	_, _, err = r.Put(t.Context(), func(context.Context, io.Writer) error { return boom })
	require.ErrorIs(t, err, boom)
}

// broken answers some requests itself.
func broken(answer func(w http.ResponseWriter, r *http.Request) bool) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !answer(w, r) {
				next.ServeHTTP(w, r)
			}
		})
	}
}

func refuse(method string, code int, text string) func(http.Handler) http.Handler {
	return broken(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != method || !strings.Contains(r.URL.Path, "/blobs/") {
			return false
		}
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"errors":[{"code":"UNKNOWN","message":%q}]}`, text)
		return true
	})
}

func TestEachMisfortuneHasItsOutcome(t *testing.T) {
	data := content(200 << 10)
	for name, c := range map[string]struct {
		disturb func(http.Handler) http.Handler
		want    error
	}{
		"denied at the start":    {refuse(http.MethodPost, 401, "authentication required"), host.ErrRegistryLogin},
		"read-only account":      {refuse(http.MethodPost, 403, "denied"), host.ErrRegistryForbidden},
		"full, as 507":           {refuse(http.MethodPatch, 507, "insufficient storage"), host.ErrRegistryFull},
		"full":                   {refuse(http.MethodPatch, 500, "write /var/lib/registry/x: no space left on device"), host.ErrRegistryFull},
		"quota":                  {refuse(http.MethodPatch, 413, "too large"), host.ErrRegistryFull},
		"breaks down":            {refuse(http.MethodPatch, 503, "unavailable"), host.ErrRegistryAway},
		"breaks down at the end": {refuse(http.MethodPut, 502, "bad gateway"), host.ErrRegistryAway},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := open(t, serve(t, c.disturb))
			if err == nil {
				err = put(t, r, data)
			}
			require.ErrorIs(t, err, c.want)
		})
	}
}

// Some registries answer 401 or 403 for a tag that does not exist, or let an account push and not read.
func TestAnAccountThatMayNotReadTagsPublishes(t *testing.T) {
	for _, code := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		at := serve(t, broken(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodGet && r.Method != http.MethodHead || !strings.Contains(r.URL.Path, "/manifests/") {
				return false
			}
			w.WriteHeader(code)
			return true
		}))
		r, err := open(t, at)
		require.NoError(t, err)
		_, err = r.Manifest(t.Context(), "1")
		require.ErrorIs(t, err, host.ErrRegistryDenied)
		p := &image.Publisher{Repository: r, Tag: "1"}
		require.NoError(t, p.Add(t.Context(), image.Bytes("var.tgz", 0o600, content(1<<10))))
		_, err = p.Finish(t.Context(), "amd64", map[string]string{image.LabelFormat: image.FormatVersion, image.LabelCluster: "{}"})
		require.NoError(t, err)
		require.True(t, p.TagUnread)
	}
}

func TestARegistryThatIsAway(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	at := strings.TrimPrefix(s.URL, "https://")
	s.Close()
	_, err := open(t, at)
	require.ErrorIs(t, err, host.ErrRegistryAway)
	require.ErrorContains(t, err, at)
}

func TestARegistryThatAnswersTooSlowly(t *testing.T) {
	stuck := make(chan struct{})
	at := serve(t, broken(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPatch {
			select {
			case <-stuck:
			case <-r.Context().Done():
			}
		}
		return false
	}))
	t.Cleanup(func() { close(stuck) }) // before the server waits for its handlers
	o := options(t)
	o.Stall, o.Tries = 100*time.Millisecond, 2
	r, err := registry.New(o).Open(t.Context(), host.RegistryAccess{Image: at + "/seed:1", CABundle: authority(t), Push: true})
	require.NoError(t, err)
	require.ErrorIs(t, put(t, r, content(1000)), host.ErrRegistryAway)
}

// The in-process registry keeps no record of an upload that broke off: it begins anew.
func TestAnUploadThatIsResetSucceeds(t *testing.T) {
	var patches atomic.Int32
	at := serve(t, broken(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPatch || patches.Add(1) != 3 {
			return false
		}
		_, _ = io.CopyN(io.Discard, r.Body, 1000)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			conn.Close()
		}
		return true
	}))
	r, err := open(t, at)
	require.NoError(t, err)
	data := content(300 << 10)
	require.NoError(t, put(t, r, data))
	back, err := get(t, r, data)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, back))
}

func TestADownloadThatBreaksOffContinues(t *testing.T) {
	var cuts atomic.Int32
	at := serve(t, broken(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/blobs/sha256:") || cuts.Add(1) > 2 {
			return false
		}
		w.Header().Set("Content-Length", "307200")
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write(content(300 << 10)[:100<<10])
		panic(http.ErrAbortHandler)
	}))
	r, err := open(t, at)
	require.NoError(t, err)
	data := content(300 << 10)
	require.NoError(t, put(t, r, data))
	back, err := get(t, r, data)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, back))
}

// A registry that falls silent in the middle of a download does not hold it up for ever.
func TestADownloadThatFallsSilentContinues(t *testing.T) {
	var silent atomic.Int32
	at := serve(t, broken(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/blobs/sha256:") || silent.Add(1) > 1 {
			return false
		}
		w.Header().Set("Content-Length", "307200")
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write(content(300 << 10)[:100<<10])
		w.(http.Flusher).Flush()
		<-r.Context().Done() // the client has hung up
		return true
	}))
	o := options(t)
	o.Stall, o.Tries = 2*time.Second, 20
	r, err := registry.New(o).Open(t.Context(), host.RegistryAccess{Image: at + "/seed:1", CABundle: authority(t), Push: true})
	require.NoError(t, err)
	data := content(300 << 10)
	require.NoError(t, put(t, r, data))
	back, err := get(t, r, data)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, back))
	require.Greater(t, silent.Load(), int32(1))
}

func TestADownloadOfOtherContentIsAnError(t *testing.T) {
	at := serve(t, broken(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/blobs/sha256:") {
			return false
		}
		_, _ = w.Write([]byte("10 letters")) // as long as what was published
		return true
	}))
	r, err := open(t, at)
	require.NoError(t, err)
	_, err = get(t, r, content(10))
	require.ErrorContains(t, err, "not what was published")
}

func TestTheCredentialsOfTheLongestNameAreUsed(t *testing.T) {
	var seen atomic.Value
	at := serve(t, broken(func(w http.ResponseWriter, r *http.Request) bool {
		user, _, ok := r.BasicAuth()
		if !ok {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		seen.Store(user)
		return false
	}))
	o := options(t)
	const file = "/auth.json"
	require.NoError(t, o.Files.Write(file, fmt.Appendf(nil,
		`{"auths":{%q:{"username":"whole","password":"p"},"%s/team":{"username":"team","password":"p"},"%s/team/seedother":{"username":"other"}}}`,
		at, at, at), 0o600))
	access := host.RegistryAccess{Image: at + "/team/seed:1", AuthFile: file, CABundle: authority(t), Push: true}
	_, err := registry.New(o).Open(t.Context(), access)
	require.NoError(t, err)
	require.Equal(t, "team", seen.Load())
	access.AuthFile = ""
	_, err = registry.New(o).Open(t.Context(), access)
	require.ErrorIs(t, err, host.ErrRegistryDenied)
	require.NoError(t, o.Files.Write(file, []byte("seedsecret"), 0o600))
	access.AuthFile = file
	_, err = registry.New(o).Open(t.Context(), access)
	require.ErrorContains(t, err, "not a containers auth file")
	require.NotContains(t, err.Error(), "seedsecret")
}

func TestWhatIsNoImageIsRefused(t *testing.T) {
	for _, image := range []string{"", "seed", "seed:1", "UPPER/seed:1", "a b/c:1"} {
		_, err := registry.New(options(t)).Open(t.Context(), host.RegistryAccess{Image: image})
		require.Error(t, err, image)
	}
}

func TestACertificateOfAnUnknownAuthorityIsNotTrusted(t *testing.T) {
	at := secured(t, http.NotFoundHandler())
	_, err := registry.New(options(t)).Open(t.Context(), host.RegistryAccess{Image: at + "/seed:1"})
	require.ErrorIs(t, err, host.ErrRegistryTrust)
	require.ErrorContains(t, err, at)
}

// What podman trusts for a registry is trusted too.
func TestAuthoritiesOfThisRegistryAreTrusted(t *testing.T) {
	at := serve(t, nil)
	o := options(t)
	require.NoError(t, o.Files.Write("/etc/containers/certs.d/"+at+"/ca.crt", []byte(authority(t)), 0o644))
	_, err := registry.New(o).Open(t.Context(), host.RegistryAccess{Image: at + "/seed:1", Push: true})
	require.NoError(t, err)
}

// A registry without TLS is refused, on this machine's own and on private addresses too, and no credentials are sent to it.
func TestARegistryOverHTTPAloneIsRefused(t *testing.T) {
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(s.Close)
	at := strings.TrimPrefix(s.URL, "http://")
	for _, push := range []bool{false, true} {
		_, err := registry.New(options(t)).Open(t.Context(), host.RegistryAccess{Image: at + "/seed:1", Push: push})
		require.ErrorIs(t, err, host.ErrRegistryPlain)
		require.ErrorContains(t, err, at)
	}
	require.Zero(t, asked.Load(), "a request was sent without TLS")
}
