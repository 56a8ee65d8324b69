// Package nmstatectl is the host.Network port over the nmstatectl command, for
// nodes that have it. lca-cli and the node agent construct it, where the native
// backend (package nm) is not wanted. It must not import a domain package.
//
// Command line: https://nmstate.io/user/cli_guide.html
package nmstatectl

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Runner runs a command on the node with the given standard input and returns
// its standard output. Its error says what failed, the tail of standard error included.
type Runner interface {
	Run(ctx context.Context, stdin []byte, argv ...string) ([]byte, error)
}

// Options are the parts a Network is made of.
type Options struct {
	Runner Runner
	Log    *slog.Logger
	// Timeout is when NetworkManager takes an uncommitted change back by itself. Default 2 min.
	Timeout time.Duration
}

// Network is host.Network over nmstatectl.
type Network struct{ o Options }

var _ host.Network = (*Network)(nil)

// New makes a Network. It runs nothing yet.
func New(o Options) *Network {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Timeout == 0 {
		o.Timeout = 2 * time.Minute
	}
	return &Network{o: o}
}

var errTodo = errors.New("not yet written")

// Observe implements host.Network.
func (n *Network) Observe(ctx context.Context) (netstate.Document, error) {
	return netstate.Document{}, errTodo
}

// Apply implements host.Network.
func (n *Network) Apply(ctx context.Context, want netstate.Document, prove func(context.Context) error) error {
	return errTodo
}

// Recover implements host.Network.
func (n *Network) Recover(ctx context.Context) error { return errTodo }
