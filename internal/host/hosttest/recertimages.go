package hosttest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// fakeImages is where the node's images lie: below /var, so that a copy of /var has them too.
const fakeImages = "/var/lib/containers/images"

// registry is the world outside, as far as images go.
type registry struct {
	down        bool
	pulls, runs int
	breaks      bool
}

// RecertImages is the node's container engine for recert. Its registry has every image but those that are called
// absent; what an image does is FakeRecert's work.
func (n *Node) RecertImages() host.RecertImages { return recertImages{n} }

// RegistryDown cuts the node off from every registry, or lets it pull again.
func (n *Node) RegistryDown(down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.registry.down = down
}

// BreakRecert makes images of recert fail in the middle of their work.
func (n *Node) BreakRecert() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.registry.breaks = true
}

// ImagePulls counts the images that were pulled.
func (n *Node) ImagePulls() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.registry.pulls
}

// ImageRuns counts the runs of recert's images.
func (n *Node) ImageRuns() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.registry.runs
}

// RemoveImages is the kubelet's garbage collection.
func (n *Node) RemoveImages() error { return n.Files().Remove(fakeImages) }

type recertImages struct{ n *Node }

func imageFile(name string) string { return path.Join(fakeImages, strings.ReplaceAll(name, "/", "_")) }

func (i recertImages) Fetch(_ context.Context, image host.RecertImage) error {
	if i.present(image) {
		return nil
	}
	i.n.lock()
	down := i.n.registry.down || strings.Contains(image.Name, "/absent:")
	if !down {
		i.n.registry.pulls++
	}
	i.n.mu.Unlock()
	if down {
		return fmt.Errorf("pull image %s: manifest unknown", image.Name)
	}
	return i.n.Files().Write(imageFile(image.Name), []byte("layers"), 0o644)
}

func (i recertImages) present(image host.RecertImage) bool {
	_, err := i.n.Files().Stat(imageFile(image.Name))
	return err == nil
}

func (i recertImages) Engine(image host.RecertImage) host.Recert { return imageEngine{i, image} }

type imageEngine struct {
	recertImages
	image host.RecertImage
}

// Run keeps the records that the adapter keeps.
func (e imageEngine) Run(ctx context.Context, configPath string) error {
	config, err := e.n.Files().Read(configPath)
	if err != nil {
		return err
	}
	record := func(name string) string { return path.Join(path.Dir(configPath), "run-recert."+name) }
	if e.recorded(record("done"), config) {
		return nil
	}
	if e.recorded(record("begun"), config) {
		return host.ErrHalfDone
	}
	if !e.present(e.image) {
		return fmt.Errorf("image %s is not on the node", e.image.Name)
	}
	if err := e.n.Files().Write(record("begun"), config, 0o600); err != nil {
		return err
	}
	if err := e.work(ctx, configPath); err != nil {
		return fmt.Errorf("%w: %w", host.ErrHalfDone, err)
	}
	return e.n.Files().Write(record("done"), config, 0o600)
}

func (e imageEngine) recorded(file string, config []byte) bool {
	text, err := e.n.Files().Read(file)
	return !errors.Is(err, fs.ErrNotExist) && string(text) == string(config)
}

func (e imageEngine) work(ctx context.Context, configPath string) error {
	e.n.lock()
	e.n.registry.runs++
	breaks := e.n.registry.breaks
	e.n.mu.Unlock()
	if breaks {
		return errors.New("the image panicked")
	}
	return e.n.FakeRecert().Run(ctx, configPath)
}
