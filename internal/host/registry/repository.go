package registry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// repository implements host.Repository.
type repository struct {
	*Registries
	repo   name.Repository
	client *http.Client
	// form is the form of uploads that the registry takes, as far as is known.
	form atomic.Int32
}

// manifestLimit bounds the size of a manifest.
const manifestLimit = 4 << 20

// accepted are the types of manifests that Manifest understands.
var accepted = []string{
	"application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json",
}

func (r *repository) endpointURL(format string, args ...any) string {
	at := "/v2/" + r.repo.RepositoryStr() + "/" + fmt.Sprintf(format, args...)
	return (&url.URL{Scheme: secure, Host: r.repo.RegistryStr(), Path: at}).String()
}

// sendRequest sends one request; the caller closes the body.
func (r *repository) sendRequest(ctx context.Context, method, at string, body io.Reader, header map[string]string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, at, body)
	if err != nil {
		return nil, fmt.Errorf("form the request: %w", err)
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	if again := req.GetBody; again != nil { // overTLS reads from it
		req.GetBody = func() (io.ReadCloser, error) {
			body, err := again()
			return &watched{body, ctx}, err
		}
	}
	return r.client.Do(req)
}

// requestHeaders sends a request without interest in the body of its answer.
func (r *repository) requestHeaders(
	ctx context.Context, method, at string, body io.Reader, header map[string]string, codes ...int,
) (http.Header, error) {
	resp, err := r.sendRequest(ctx, method, at, body, header)
	if err != nil {
		return nil, classifyError(err)
	}
	defer resp.Body.Close()
	if err := checkResponse(resp, codes...); err != nil {
		return resp.Header, err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, manifestLimit))
	return resp.Header, nil
}

// Has implements host.Repository.
func (r *repository) Has(ctx context.Context, digest string) (bool, error) {
	err := r.retryWhileAway(ctx, func(ctx context.Context) error {
		_, err := r.requestHeaders(ctx, http.MethodHead, r.endpointURL("blobs/%s", digest), nil, nil, http.StatusOK)
		return err
	})
	if errors.Is(err, host.ErrNoImage) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask for blob %s in %s: %w", digest, r.repo.Name(), err)
	}
	return true, nil
}

// PutManifest implements host.Repository.
func (r *repository) PutManifest(ctx context.Context, tag, mediaType string, data []byte) (string, error) {
	err := r.retryWhileAway(ctx, func(ctx context.Context) error {
		_, err := r.requestHeaders(ctx, http.MethodPut, r.endpointURL("manifests/%s", tag), bytes.NewReader(data),
			map[string]string{"Content-Type": mediaType}, http.StatusCreated, http.StatusOK, http.StatusAccepted)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("write the manifest %s of %s: %w", tag, r.repo.Name(), err)
	}
	return digestOf(data), nil
}

// Manifest implements host.Repository.
func (r *repository) Manifest(ctx context.Context, tagOrDigest string) (m host.Manifest, err error) {
	err = r.retryWhileAway(ctx, func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.endpointURL("manifests/%s", tagOrDigest), nil)
		if err != nil {
			return fmt.Errorf("form the request: %w", err)
		}
		req.Header["Accept"] = accepted
		resp, err := r.client.Do(req)
		if err != nil {
			return fmt.Errorf("fetch the manifest %s: %w", tagOrDigest, err)
		}
		defer resp.Body.Close()
		if err := checkResponse(resp, http.StatusOK); err != nil {
			return err
		}
		m.MediaType = resp.Header.Get("Content-Type")
		m.Data, err = io.ReadAll(io.LimitReader(resp.Body, manifestLimit+1))
		if len(m.Data) > manifestLimit {
			return fmt.Errorf("it has more than %d bytes", manifestLimit)
		}
		return err
	})
	if err != nil {
		return host.Manifest{}, fmt.Errorf("read the manifest %s of %s: %w", tagOrDigest, r.repo.Name(), err)
	}
	m.Digest = digestOf(m.Data)
	if hash, err := parseDigest(tagOrDigest); err == nil && "sha256:"+hash != m.Digest {
		return host.Manifest{}, fmt.Errorf("read the manifest %s of %s: the registry sent another one, %s",
			tagOrDigest, r.repo.Name(), m.Digest)
	}
	return m, nil
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// parseDigest returns the hexadecimal part of a SHA-256 digest.
func parseDigest(digest string) (string, error) {
	const prefix = "sha256:"
	if len(digest) != len(prefix)+64 || digest[:len(prefix)] != prefix {
		return "", fmt.Errorf("%q is not a SHA-256 digest", digest)
	}
	if _, err := hex.DecodeString(digest[len(prefix):]); err != nil {
		return "", fmt.Errorf("%q is not a SHA-256 digest", digest)
	}
	return digest[len(prefix):], nil
}
