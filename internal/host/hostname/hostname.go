// Package hostname is the host.Hostname adapter: hostnamectl gives the node its name. Package cmd/lca-cli builds it; it
// imports its port, host/run and golang.org/x/sys only.
package hostname

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/run"
)

const timeout = 30 * time.Second

// Names implements host.Hostname.
type Names struct{ runner run.Runner }

var _ host.Hostname = Names{}

// New returns the adapter; it acts when it is called.
func New(runner run.Runner) Names { return Names{runner} }

// Hostname implements host.Hostname.
func (Names) Hostname(context.Context) (string, error) {
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("read the node's name: %w", err)
	}
	return name, nil
}

// SetHostname implements host.Hostname. Without --static or --transient hostnamectl sets both.
func (n Names) SetHostname(ctx context.Context, name string) error {
	_, err := n.runner.Run(ctx, run.Command{Argv: []string{"hostnamectl", "set-hostname", "--", name}, Timeout: timeout})
	if err != nil {
		return fmt.Errorf("set the node's name: %w", err)
	}
	return nil
}

// file holds the stored name; its first line counts (hostname(5)).
const file = "/etc/hostname"

// Stored returns the name of the next boots; false where none is stored.
func (Names) Stored(context.Context) (string, bool, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("read the node's stored name: %w", err)
	}
	return strings.TrimSpace(string(text)), true, nil
}

// SetRunning gives the kernel the name and stores nothing. hostnamectl would not: a stored name goes before a transient one.
func (Names) SetRunning(_ context.Context, name string) error {
	if err := unix.Sethostname([]byte(name)); err != nil {
		return fmt.Errorf("set the node's running name to %s: %w", name, err)
	}
	return nil
}

// SetStored stores the name for the next boots; an empty one removes it.
func (n Names) SetStored(ctx context.Context, name string) error {
	_, err := n.runner.Run(ctx, run.Command{Argv: []string{"hostnamectl", "--static", "set-hostname", "--", name}, Timeout: timeout})
	if err != nil {
		return fmt.Errorf("store the node's name %q: %w", name, err)
	}
	return nil
}
