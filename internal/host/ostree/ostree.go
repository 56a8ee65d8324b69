package ostree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"regexp"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/run"
)

const (
	// stagedFile exists while an update waits to be finished at shutdown
	// (ostree-finalize-staged.service). It would then become the default.
	stagedFile = "/run/ostree/staged-deployment"
	// quick and slow bound the commands: those that change links and those that write a
	// deployment and flush the disk.
	quick = 5 * time.Minute
	slow  = 20 * time.Minute
)

// Options say how to reach the node.
type Options struct {
	// Runner runs ostree in the node's own mount namespace and root.
	Runner run.Runner
	// Files are the node's, from its root.
	Files *files.Files
	Log   *slog.Logger
}

// Deployments implements host.Deployments.
type Deployments struct {
	runner run.Runner
	files  *files.Files
	log    *slog.Logger
}

// New returns the node's deployments.
func New(o Options) *Deployments {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Deployments{runner: o.Runner, files: o.Files, log: o.Log}
}

// CanSetDefault implements host.Deployments. Older ostree (2022.7, say) has no
// `ostree admin set-default`; an update waiting to be finished would override any choice.
func (d *Deployments) CanSetDefault(ctx context.Context) error {
	res, err := d.runAdmin(ctx, quick, "--help")
	if err != nil {
		return fmt.Errorf("ask ostree for its commands: %w", err)
	}
	if !strings.Contains(string(res.Stdout)+string(res.Stderr), "set-default") {
		return errors.New("this node's ostree is too old: `ostree admin` has no set-default")
	}
	return d.refuseStaged()
}

// refuseStaged fails while an operating system update is staged.
func (d *Deployments) refuseStaged() error {
	_, err := d.files.Stat(stagedFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find a staged update: %w", err)
	}
	return errors.New("an operating system update is staged and would become the default at the next shutdown; " +
		"let it finish by a reboot, or drop it, first")
}

// Stateroots implements host.Deployments.
func (d *Deployments) Stateroots(context.Context) ([]string, error) {
	names, err := d.files.List(host.DeployDir)
	if err != nil {
		return nil, fmt.Errorf("list stateroots: %w", err)
	}
	return names, nil
}

func (d *Deployments) runAdmin(ctx context.Context, timeout time.Duration, args ...string) (run.Result, error) {
	argv := append([]string{"ostree", "admin"}, args...)
	return d.runner.Run(ctx, run.Command{Argv: argv, Timeout: timeout})
}

// stateroot names become directory names and boot loader words.
var staterootName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+-]{0,127}$`)

func validName(stateroot string) error {
	if !staterootName.MatchString(stateroot) {
		return fmt.Errorf("stateroot name %q: want letters, digits and _.+- only, not beginning with a sign", stateroot)
	}
	return nil
}
