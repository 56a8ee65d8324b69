package hosttest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Registry is a registry somewhere in the world: it keeps what it has while nodes come and go.
type Registry struct {
	mu        sync.Mutex
	blobs     map[string][]byte
	manifests map[string]host.Manifest
	// Fail, where it is not nil, is asked before each request, which is named by its method and what it is about.
	Fail func(request string) error
	// Puts counts the blobs that were sent.
	Puts int
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry {
	return &Registry{blobs: map[string][]byte{}, manifests: map[string]host.Manifest{}}
}

// Registries lets the node reach this one registry, whatever it is called.
func (n *Node) Registries(r *Registry) host.Registries { return registries{n, r} }

type registries struct {
	n *Node
	r *Registry
}

func (r registries) Open(_ context.Context, a host.RegistryAccess) (host.Repository, error) {
	name := "open for pull"
	if a.Push {
		name = "open for push"
	}
	return repository(r), r.ask(name)
}

// ask is a request; the node may die before it.
func (r registries) ask(request string) error {
	r.n.m.Enter()
	defer r.n.m.Unlock()
	if err := r.n.m.Change("registry", request); err != nil {
		return err
	}
	if r.r.Fail != nil {
		return r.r.Fail(request)
	}
	return nil
}

type repository registries

func (r repository) ask(request string) error { return registries(r).ask(request) }

func (r repository) Has(_ context.Context, digest string) (bool, error) {
	r.r.mu.Lock()
	defer r.r.mu.Unlock()
	_, ok := r.r.blobs[digest]
	return ok, nil
}

func (r repository) Put(ctx context.Context, write func(context.Context, io.Writer) error) (string, int64, error) {
	var b strings.Builder
	if err := write(ctx, &b); err != nil {
		return "", 0, err
	}
	if err := r.ask("put blob"); err != nil {
		return "", 0, err
	}
	digest := digestOf([]byte(b.String()))
	r.r.mu.Lock()
	defer r.r.mu.Unlock()
	r.r.blobs[digest] = []byte(b.String())
	r.r.Puts++
	return digest, int64(b.Len()), nil
}

func (r repository) Get(_ context.Context, digest string, size int64) (io.ReadCloser, error) {
	if err := r.ask("get blob"); err != nil {
		return nil, err
	}
	r.r.mu.Lock()
	defer r.r.mu.Unlock()
	data, ok := r.r.blobs[digest]
	if !ok {
		return nil, fmt.Errorf("blob %s: %w", digest, host.ErrNoImage)
	}
	if int64(len(data)) != size || digestOf(data) != digest {
		return nil, fmt.Errorf("blob %s has %d bytes, not %d, or another content: it is not what was published", digest, len(data), size)
	}
	return io.NopCloser(strings.NewReader(string(data))), nil
}

func (r repository) PutManifest(_ context.Context, tag, mediaType string, data []byte) (string, error) {
	if err := r.ask("put manifest"); err != nil {
		return "", err
	}
	r.r.mu.Lock()
	defer r.r.mu.Unlock()
	m := host.Manifest{MediaType: mediaType, Digest: digestOf(data), Data: slices.Clone(data)}
	r.r.manifests[tag], r.r.manifests[m.Digest] = m, m
	return m.Digest, nil
}

func (r repository) Manifest(_ context.Context, tagOrDigest string) (host.Manifest, error) {
	if err := r.ask("get manifest"); err != nil {
		return host.Manifest{}, err
	}
	r.r.mu.Lock()
	defer r.r.mu.Unlock()
	m, ok := r.r.manifests[tagOrDigest]
	if !ok {
		return m, fmt.Errorf("manifest %s: %w", tagOrDigest, host.ErrNoImage)
	}
	return m, nil
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}
