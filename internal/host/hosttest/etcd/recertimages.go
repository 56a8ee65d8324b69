package etcd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/files"
)

// fakeImages is where the node's images lie: below /var, so that a copy of /var has them too.
const fakeImages = "/var/lib/containers/images"

// images is the world outside, as far as images go.
type images struct {
	down        bool
	pulls, runs int
	breaks      bool
}

// RecertImages is the node's container engine for recert. Its registry has every image but those that are called
// absent; what an image does is FakeRecert's work.
func (n *Member) RecertImages() host.RecertImages { return recertImages{n} }

// RegistryDown cuts the node off from every registry, or lets it pull again.
func (n *Member) RegistryDown(down bool) {
	n.Lock()
	defer n.Unlock()
	n.images.down = down
}

// BreakRecert makes images of recert fail in the middle of their work.
func (n *Member) BreakRecert() {
	n.Lock()
	defer n.Unlock()
	n.images.breaks = true
}

// ImagePulls counts the images that were pulled.
func (n *Member) ImagePulls() int {
	n.Lock()
	defer n.Unlock()
	return n.images.pulls
}

// ImageRuns counts the runs of recert's images.
func (n *Member) ImageRuns() int {
	n.Lock()
	defer n.Unlock()
	return n.images.runs
}

// RemoveImages is the kubelet's garbage collection.
func (n *Member) RemoveImages() error { return files.Of(n.Machine).Remove(fakeImages) }

type recertImages struct{ n *Member }

func imageFile(name string) string { return path.Join(fakeImages, strings.ReplaceAll(name, "/", "_")) }

func (i recertImages) Fetch(_ context.Context, image host.RecertImage) error {
	if i.present(image) {
		return nil
	}
	i.n.Enter()
	down := i.n.images.down || strings.Contains(image.Name, "/absent:")
	if !down {
		i.n.images.pulls++
	}
	i.n.Unlock()
	if down {
		return fmt.Errorf("pull image %s: manifest unknown", image.Name)
	}
	return files.Of(i.n.Machine).Write(imageFile(image.Name), []byte("layers"), 0o644)
}

func (i recertImages) present(image host.RecertImage) bool {
	_, err := files.Of(i.n.Machine).Stat(imageFile(image.Name))
	return err == nil
}

func (i recertImages) Engine(image host.RecertImage) host.Recert { return imageEngine{i, image} }

type imageEngine struct {
	recertImages
	image host.RecertImage
}

// Run keeps the records that the adapter keeps.
func (e imageEngine) Run(ctx context.Context, configPath string) error {
	config, err := files.Of(e.n.Machine).Read(configPath)
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
	if err := files.Of(e.n.Machine).Write(record("begun"), config, 0o600); err != nil {
		return err
	}
	if err := e.work(ctx, configPath); err != nil {
		return fmt.Errorf("%w: %w", host.ErrHalfDone, err)
	}
	return files.Of(e.n.Machine).Write(record("done"), config, 0o600)
}

func (e imageEngine) recorded(file string, config []byte) bool {
	text, err := files.Of(e.n.Machine).Read(file)
	return !errors.Is(err, fs.ErrNotExist) && string(text) == string(config)
}

func (e imageEngine) work(ctx context.Context, configPath string) error {
	e.n.Enter()
	e.n.images.runs++
	breaks := e.n.images.breaks
	e.n.Unlock()
	if breaks {
		return errors.New("the image panicked")
	}
	return e.n.FakeRecert().Run(ctx, configPath)
}
