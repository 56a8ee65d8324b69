package containers

import (
	"log/slog"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/run"
)

// Options say how to reach the runtime.
type Options struct {
	Runner run.Runner
	Log    *slog.Logger
}

// Runtime implements host.Containers.
type Runtime struct{ o Options }

// New returns the node's container runtime.
func New(o Options) *Runtime { return &Runtime{o: o} }
