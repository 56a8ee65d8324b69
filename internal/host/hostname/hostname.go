// Package hostname is the host.Hostname adapter: hostnamectl gives the node its name. Package cmd/lca-cli builds it; it
// imports its port and host/run only.
package hostname

import (
	"context"
	"fmt"
	"os"
	"time"

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
