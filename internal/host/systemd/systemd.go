package systemd

import (
	"log/slog"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/run"
)

// Options say how to reach systemd.
type Options struct {
	// Root is the host's root as this process sees it; empty is "/".
	Root string
	// Socket is the D-Bus socket; empty is Root + /run/dbus/system_bus_socket.
	Socket string
	// Runner runs `systemctl --root`.
	Runner run.Runner
	Log    *slog.Logger
}

// Manager implements host.Units, host.RuntimeMasks, host.Transients, host.ForeignUnits and
// host.Power.
type Manager struct{ o Options }

// New returns a Manager; it connects when it is first used.
func New(o Options) *Manager { return &Manager{o: o} }
