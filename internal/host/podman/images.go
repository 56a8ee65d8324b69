package podman

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/run"
)

// Limits of single commands.
const (
	lookTime = 30 * time.Second
	pullTime = 10 * time.Minute
	runTime  = 15 * time.Minute
	// healthTime is how long etcd may take until it answers, healthPause the time between two questions.
	healthTime  = time.Minute
	healthPause = 250 * time.Millisecond
)

// Options say what the engine works on. Runner, Files and EtcdImage are needed; the zero value of the
// rest is right on a node.
type Options struct {
	Runner run.Runner
	Files  host.Files
	// EtcdImage names the image of the cluster's own etcd.
	EtcdImage func() (string, error)
	// Podman is the program to run.
	Podman string
	// Root is put before the host's side of every mount.
	Root string
	Log  *slog.Logger
}

// Images implements host.RecertImages.
type Images struct{ o Options }

var _ host.RecertImages = (*Images)(nil)

// New returns the node's container engine for recert.
func New(o Options) *Images {
	if o.Podman == "" {
		o.Podman = "podman"
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Images{o: o}
}

// Engine implements host.RecertImages.
func (i *Images) Engine(image host.RecertImage) host.Recert { return &engine{i.o, image} }

// Fetch implements host.RecertImages.
func (i *Images) Fetch(ctx context.Context, image host.RecertImage) error {
	etcd, err := i.o.EtcdImage()
	if err != nil {
		return fmt.Errorf("find out which etcd image recert needs: %w", err)
	}
	for _, name := range []string{image.Name, etcd} {
		if err := i.o.pullMissing(ctx, host.RecertImage{Name: name, AuthFile: image.AuthFile}); err != nil {
			return err
		}
	}
	return nil
}

func (o Options) pullMissing(ctx context.Context, image host.RecertImage) error {
	present, err := o.hasImage(ctx, image.Name)
	if err != nil || present {
		return err
	}
	o.Log.Info("pulling an image", "op", "recert-image", "image", image.Name)
	argv := append([]string{"pull", "--quiet"}, o.authArgs(image)...)
	if _, err := o.runPodman(ctx, pullTime, append(argv, image.Name)...); err != nil {
		return fmt.Errorf("pull image %s: %w", image.Name, err)
	}
	return nil
}

// hasImage says whether the image is on the node; podman exits with 1 where it is not.
func (o Options) hasImage(ctx context.Context, name string) (bool, error) {
	_, err := o.runPodman(ctx, lookTime, "image", "exists", name)
	if run.ExitCode(err) == 1 {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("find image %s: %w", name, err)
	}
	return true, nil
}

// authArgs are the arguments that name the pull secret, where there is one.
func (o Options) authArgs(image host.RecertImage) []string {
	if image.AuthFile == "" {
		return nil
	}
	if _, err := o.Files.Stat(image.AuthFile); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return []string{"--authfile", o.Root + image.AuthFile}
}

// runPodman runs the program, without the warnings that it likes to write.
func (o Options) runPodman(ctx context.Context, limit time.Duration, argv ...string) (run.Result, error) {
	return o.Runner.Run(ctx, o.podmanCommand(limit, argv...))
}

func (o Options) podmanCommand(limit time.Duration, argv ...string) run.Command {
	return run.Command{
		Argv: append([]string{o.Podman, "--log-level", "error"}, argv...), Timeout: limit,
		Env: []string{"HOME=/root"}, // podman looks there for its settings; a unit has none
	}
}
