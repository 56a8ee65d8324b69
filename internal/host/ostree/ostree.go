package ostree

import (
	"log/slog"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/run"
)

// Options say how to reach the node.
type Options struct {
	Runner run.Runner
	Files  *files.Files
	Log    *slog.Logger
}

// Deployments implements host.Deployments.
type Deployments struct{ o Options }

// New returns the node's deployments.
func New(o Options) *Deployments { return &Deployments{o: o} }
