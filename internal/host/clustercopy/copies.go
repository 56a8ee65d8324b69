package clustercopy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/run"
)

const (
	// prefix begins the names of the containers.
	prefix    = "lca-rehearsal-"
	lookTime  = 30 * time.Second
	startTime = 2 * time.Minute
	// tailLines is how much of a container's output an error has.
	tailLines = "1000"
)

// Options say what the copies are run with. Runner is needed; the zero value of the rest is right on a node.
type Options struct {
	Runner run.Runner
	Podman string
	// Live is how to reach the etcd of the running cluster, DataDir where its data is.
	Live    etcd.LiveConfig
	DataDir string
	// Namespace is the file that the network namespace is mounted on.
	Namespace string
	// CGroups is podman's --cgroups; empty chooses by what the node offers.
	CGroups string
	Log     *slog.Logger
}

// Copies implements host.ControlPlaneCopies.
type Copies struct{ o Options }

var _ host.ControlPlaneCopies = (*Copies)(nil)

// New returns a Copies; nothing is touched before it is asked to.
func New(o Options) *Copies {
	if o.Podman == "" {
		o.Podman = "podman"
	}
	if o.DataDir == "" {
		o.DataDir = host.EtcdData
	}
	if o.Namespace == "" {
		o.Namespace = "/run/lca/rehearsal.net"
	}
	if o.CGroups == "" {
		o.CGroups = ChooseCGroups()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Copies{o}
}

// ChooseCGroups is podman's --cgroups for containers that belong to the calling unit.
func ChooseCGroups() string { return chooseCGroups("/sys/fs/cgroup") }

// chooseCGroups keeps containers in the control group of the calling unit, which bounds them and ends them. Where the node's only hierarchy
// offers no controllers nothing can be bounded, and podman must not try; the first version of control groups has no such choice.
func chooseCGroups(root string) string {
	controllers, err := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
	switch {
	case err != nil:
		return "enabled"
	case len(strings.TrimSpace(string(controllers))) == 0:
		return "disabled"
	}
	return "split"
}

// CopyStore implements host.ControlPlaneCopies.
func (c *Copies) CopyStore(ctx context.Context, root string) error {
	return etcd.NewLive(c.o.Live).Copy(ctx, c.o.DataDir, filepath.Join(root, host.EtcdData))
}

// Start implements host.ControlPlaneCopies.
func (c *Copies) Start(ctx context.Context, root string, s host.StaticContainer) error {
	spec, err := readContainer(root, s)
	if err != nil {
		return err
	}
	if _, err := c.runPodman(ctx, lookTime, "image", "exists", spec.image); err != nil {
		return fmt.Errorf("%w: %s of container %s", host.ErrImageMissing, spec.image, s.Name) // podman says no more than 1
	}
	if _, err := c.runPodman(ctx, startTime, c.containerArgs(s.Name, spec)...); err != nil {
		return fmt.Errorf("start container %s: %w", s.Name, err)
	}
	return nil
}

// containerArgs run the container as the kubelet would, but in the network of the copy and with its files.
func (c *Copies) containerArgs(name string, spec container) []string {
	argv := []string{"run", "--detach", "--replace", "--pull", "never", "--name", prefix + name,
		"--network", "ns:" + c.o.Namespace, "--cgroups", c.o.CGroups, "--security-opt", "label=disable",
		"--log-driver", "k8s-file", "--user", "0:0", "--pids-limit", "-1"}
	for _, m := range spec.mounts {
		argv = append(argv, "--volume", m.source+":"+m.target)
	}
	for _, e := range spec.env {
		argv = append(argv, "--env", e)
	}
	if len(spec.command) > 0 {
		argv = append(argv, "--entrypoint", spec.command[0])
		spec.args = append(spec.command[1:], spec.args...)
	}
	return append(append(argv, spec.image), spec.args...)
}

// Output implements host.ControlPlaneCopies.
func (c *Copies) Output(ctx context.Context, s host.StaticContainer) (text string, running bool, err error) {
	state, err := c.runPodman(ctx, lookTime, "inspect", "--format", "{{.State.Running}}", prefix+s.Name)
	if err != nil {
		return "", false, fmt.Errorf("look at container %s: %w", s.Name, err)
	}
	res, err := c.o.Runner.Run(ctx, run.Command{
		Argv: []string{c.o.Podman, "logs", "--tail", tailLines, prefix + s.Name}, Timeout: lookTime, SecretOutput: true,
	})
	if err != nil {
		return "", false, fmt.Errorf("read the output of container %s: %w", s.Name, err)
	}
	return string(res.Stdout) + string(res.Stderr), strings.TrimSpace(string(state.Stdout)) == "true", nil
}

// Remove implements host.ControlPlaneCopies.
func (c *Copies) Remove(ctx context.Context) error {
	list, err := c.runPodman(ctx, lookTime, "ps", "--all", "--quiet", "--filter", "name=^"+prefix)
	if err != nil {
		return errors.Join(fmt.Errorf("list the containers of a copied control plane: %w", err), c.removeNamespace())
	}
	if ids := strings.Fields(string(list.Stdout)); len(ids) > 0 {
		if _, err := c.runPodman(ctx, startTime, append([]string{"rm", "--force", "--ignore", "--time", "0"}, ids...)...); err != nil {
			return errors.Join(fmt.Errorf("remove the containers of a copied control plane: %w", err), c.removeNamespace())
		}
	}
	return c.removeNamespace()
}

func (c *Copies) runPodman(ctx context.Context, limit time.Duration, argv ...string) (run.Result, error) {
	return c.o.Runner.Run(ctx, run.Command{Argv: append([]string{c.o.Podman, "--log-level", "error"}, argv...), Timeout: limit})
}
