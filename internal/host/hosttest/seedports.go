package hosttest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
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
	r.n.lock()
	defer r.n.mu.Unlock()
	if err := r.n.op("registry", request); err != nil {
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

func (r repository) Get(_ context.Context, digest string) (io.ReadCloser, error) {
	if err := r.ask("get blob"); err != nil {
		return nil, err
	}
	r.r.mu.Lock()
	defer r.r.mu.Unlock()
	data, ok := r.r.blobs[digest]
	if !ok {
		return nil, fmt.Errorf("blob %s: %w", digest, host.ErrNoImage)
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

// Archives is the node's host.Archives. Its format is a JSON list of the files.
func (n *Node) Archives() host.Archives { return archives{n} }

type archives struct{ n *Node }

// archived is a file in the fake's archive.
type archived struct {
	Name string
	Mode fs.FileMode
	Link string
	Data []byte
}

func (a archives) Pack(_ context.Context, r host.ArchiveRequest, to io.Writer) (host.ArchiveStats, error) {
	a.n.lock()
	at, err := a.n.resolve(r.Dir, true)
	if err == nil && !a.n.disk.live[at].isDir() {
		err = &fs.PathError{Op: "open", Path: r.Dir, Err: fs.ErrNotExist}
	}
	if err != nil {
		a.n.mu.Unlock()
		return host.ArchiveStats{}, fmt.Errorf("archive %s: %w", r.Dir, err)
	}
	var all []archived
	for _, p := range a.n.disk.under(at) {
		rel := strings.TrimPrefix(strings.TrimPrefix(p, at), "/")
		if in := a.n.disk.live[p]; rel == "" || wanted(r, rel, in.isDir()) {
			all = append(all, archived{path.Join(r.Prefix, rel), in.mode, in.link, in.data})
		}
	}
	a.n.mu.Unlock()
	for _, f := range all {
		if r.Sum != nil && f.Mode.IsRegular() {
			r.Sum(f.Name, sha256.Sum256(f.Data))
		}
	}
	data, err := json.Marshal(all)
	if err != nil {
		return host.ArchiveStats{}, err
	}
	_, err = to.Write(data)
	return host.ArchiveStats{Files: len(all), Bytes: int64(len(data))}, err
}

func wanted(r host.ArchiveRequest, rel string, dir bool) bool {
	above := func(list []string) bool {
		return dir && slices.ContainsFunc(list, func(o string) bool { return within(path.Join("/", o), path.Join("/", rel)) })
	}
	kept := slices.Contains(r.Keep, rel) || above(r.Keep)
	inEmpty := slices.ContainsFunc(r.Empty, func(e string) bool { return e != rel && listed([]string{e}, rel) })
	switch {
	case listed(r.Skip, rel), slices.Contains(r.SkipNames, path.Base(rel)), inEmpty && !kept:
		return false
	case r.Only != nil:
		return slices.Contains(r.Only, rel) || above(r.Only)
	}
	return true
}

func (a archives) Unpack(_ context.Context, dir string, from io.Reader, sum func(string, [32]byte)) error {
	data, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	var all []archived
	if err := json.Unmarshal(data, &all); err != nil {
		return fmt.Errorf("unpack into %s: %w", dir, err)
	}
	a.n.lock()
	defer a.n.mu.Unlock()
	at, err := a.n.resolve(dir, true)
	if err != nil {
		return err
	}
	for _, f := range all {
		if !fs.ValidPath(f.Name) {
			return fmt.Errorf("unpack into %s: the name %q leads out of the folder", dir, f.Name)
		}
		to := path.Join(at, f.Name)
		if err := a.n.op("archives.unpack", to); err != nil {
			return err
		}
		if err := a.n.disk.put(to, inode{mode: f.Mode, link: f.Link, data: f.Data}, false); err != nil {
			return err
		}
		if sum != nil && f.Mode.IsRegular() {
			sum(f.Name, sha256.Sum256(f.Data))
		}
	}
	return nil
}

// Copies is the node's host.SystemCopies.
func (n *Node) Copies() host.SystemCopies { return copies{n} }

type copies struct{ n *Node }

func (c copies) Files(root string) host.Files { return copiedFiles{c.n.Files(), root} }

func (c copies) Keystore(root string) host.Keystore { return keystore{c.n, root} }

func (c copies) Recert(root string) host.Recert { return copiedRecert{c.n, root} }

// Purge has nothing to do: this store has no log.
func (c copies) Purge(_ context.Context, root string) error {
	c.n.lock()
	defer c.n.mu.Unlock()
	return c.n.op("copies.purge", root)
}

// copiedRecert expires the cluster of a copy: every key gets the kind "Expired" beside its own, one at a time.
type copiedRecert struct {
	n    *Node
	root string
}

func (r copiedRecert) Run(ctx context.Context, configPath string) error {
	if _, err := r.n.Files().Read(path.Join(r.root, configPath)); err != nil {
		return fmt.Errorf("recert: %w", err)
	}
	s, err := keystore(r).Open(ctx)
	if err != nil {
		return fmt.Errorf("recert: %w", err)
	}
	err = s.Range(ctx, "", func(kv host.KeyValue) error {
		var have resource
		if json.Unmarshal(kv.Value, &have) != nil || strings.HasPrefix(have.Kind, "Expired ") {
			return nil
		}
		have.Kind = "Expired " + have.Kind
		return s.Commit(ctx, []host.Edit{{Key: kv.Key, Value: encode(have), ModRevision: kv.ModRevision}})
	})
	return errors.Join(err, s.Close(ctx))
}

// copiedFiles are files below a folder.
type copiedFiles struct {
	host.Files
	root string
}

func (f copiedFiles) at(p string) string { return path.Join(f.root, path.Clean("/"+p)) }

func (f copiedFiles) Read(p string) ([]byte, error) { return f.Files.Read(f.at(p)) }

func (f copiedFiles) Write(p string, data []byte, mode fs.FileMode) error {
	return f.Files.Write(f.at(p), data, mode)
}

func (f copiedFiles) Append(p string, data []byte, mode fs.FileMode) error {
	return f.Files.Append(f.at(p), data, mode)
}
func (f copiedFiles) Remove(p string) error              { return f.Files.Remove(f.at(p)) }
func (f copiedFiles) List(p string) ([]string, error)    { return f.Files.List(f.at(p)) }
func (f copiedFiles) Stat(p string) (fs.FileInfo, error) { return f.Files.Stat(f.at(p)) }

// Reports is the node's host.SystemReports.
func (n *Node) Reports() host.SystemReports { return reports{} }

type reports struct{}

func (reports) Images(context.Context) ([]host.ContainerImage, error) {
	return []host.ContainerImage{{Tags: []string{"quay.io/team/app:1"}}, {Digests: []string{"quay.io/team/other@sha256:00"}}}, nil
}

func (reports) RPMOSTree(context.Context) ([]byte, error) { return nil, fs.ErrNotExist }
