package registry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
)

// Options configure a Registries.
type Options struct {
	// Files has the auth files and the authorities of registries, as podman looks for them.
	Files *files.Files
	Log   *slog.Logger
	// Chunk is how many bytes are sent at once; 0 chooses. Two of them are in memory.
	Chunk int
	// Pause lies between two tries of a request and doubles each time; Stall bounds one request. 0 chooses.
	Pause, Stall time.Duration
	// Tries is how often a request or a piece is tried; 0 chooses.
	Tries int
}

// Registries implements host.Registries.
type Registries struct{ o Options }

var _ host.Registries = (*Registries)(nil)

// New returns a Registries; nothing is contacted.
func New(o Options) *Registries {
	if o.Chunk == 0 {
		o.Chunk = 16 << 20
	}
	if o.Pause == 0 {
		o.Pause = 2 * time.Second
	}
	if o.Stall == 0 {
		o.Stall = 3 * time.Minute
	}
	if o.Tries == 0 {
		o.Tries = 6
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Registries{o}
}

// Open implements host.Registries.
func (r *Registries) Open(ctx context.Context, a host.RegistryAccess) (host.Repository, error) {
	ref, err := name.ParseReference(a.Image, name.WithDefaultRegistry(""))
	if err != nil || ref.Context().RegistryStr() == "" {
		return nil, fmt.Errorf("%q is not the name of an image: give registry/repository:tag", a.Image)
	}
	repo := ref.Context()
	base, err := r.newTransport(repo.RegistryStr(), a.CABundle)
	if err != nil {
		return nil, err
	}
	auth, err := findCredentials(r.o.Files, a.AuthFile, repo)
	if err != nil {
		return nil, err
	}
	scope := repo.Scope(transport.PullScope)
	if a.Push {
		scope = repo.Scope(transport.PushScope)
	}
	var rt http.RoundTripper
	err = r.retryWhileAway(ctx, func(ctx context.Context) error {
		rt, err = transport.NewWithContext(ctx, repo.Registry, auth, overTLS{base}, []string{scope})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("connect to the registry %s: %w", repo.RegistryStr(), classifyError(err))
	}
	out := &repository{Registries: r, repo: repo, client: &http.Client{Transport: rt}}
	if a.Push {
		if err := out.proveWrite(ctx); err != nil {
			return nil, fmt.Errorf("ask %s for the right to write: %w", repo.Name(), err)
		}
	}
	return out, nil
}

// newTransport trusts what the system trusts, what podman trusts for this registry, and the bundle.
func (r *Registries) newTransport(registry, bundle string) (*http.Transport, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if bundle != "" && !pool.AppendCertsFromPEM([]byte(bundle)) {
		return nil, fmt.Errorf("the CA bundle for %s has no certificate in PEM", registry)
	}
	for _, dir := range []string{"/etc/containers/certs.d", "/etc/docker/certs.d"} {
		names, err := r.o.Files.List(path.Join(dir, registry))
		if err != nil {
			continue
		}
		for _, n := range names {
			if data, err := r.o.Files.Read(path.Join(dir, registry, n)); err == nil && strings.HasSuffix(n, ".crt") {
				pool.AppendCertsFromPEM(data)
			}
		}
	}
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 20 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSClientConfig:     &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: 20 * time.Second, ResponseHeaderTimeout: r.o.Stall, IdleConnTimeout: time.Minute,
	}, nil
}

// overTLS sends every request over TLS: the library would also ask registries on private addresses without it. It sends the
// whole content each time: the library repeats a request with a new token, and its content has been read then. It bounds what is answered.
type overTLS struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t overTLS) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != secure {
		clone := r.Clone(r.Context())
		clone.URL.Scheme = secure
		r = clone
	}
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		clone := *r
		clone.Body = body
		r = &clone
	}
	resp, err := t.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if long, _ := r.Context().Value(longKey{}).(bool); !long || resp.StatusCode >= http.StatusMultipleChoices {
		resp.Body = limited{io.LimitReader(resp.Body, answerLimit), resp.Body}
	}
	return resp, nil
}

// longKey marks the context of requests whose answer is a blob. Every other answer, an error and a token included, is held
// in memory, some by the library without a limit of its own.
type longKey struct{}

// answerLimit bounds such an answer.
const answerLimit = 2 * manifestLimit

type limited struct {
	io.Reader
	io.Closer
}

const secure = "https"
