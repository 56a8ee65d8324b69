package ipconfig

import (
	"context"
	"net/netip"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Deployments is the part of host.Deployments that the operator may use: it looks, lca-cli acts.
type Deployments interface {
	List(ctx context.Context) ([]host.Deployment, error)
	Stateroots(ctx context.Context) ([]string, error)
	CanSetDefault(ctx context.Context) error
}

// Network is the part of host.Network that the operator may use.
type Network interface {
	Observe(ctx context.Context) (netstate.Document, error)
}

// Prober is the part of host.Prober that the operator may use.
type Prober interface {
	InUse(ctx context.Context, addr netip.Prefix, ifaces ...string) (host.Claim, error)
}

// Units is the part of host.Units that the operator may use: to see whether
// lca-cli runs, to abort it, and to disarm the watchdog.
type Units interface {
	State(ctx context.Context, unit string) (host.UnitState, error)
	Stop(ctx context.Context, unit string) error
	Disable(ctx context.Context, unit string) error
}

// Lock is the part of host.NodeLock that the operator may use: lca-cli takes it.
type Lock interface {
	Holder(ctx context.Context) (h host.Holder, held bool, err error)
}

// Node is the node the operator runs on, as far as this controller needs it.
type Node struct {
	Files       host.Files
	Disk        ipconfig.Disk
	Deployments Deployments
	Network     Network
	Units       Units
	Transients  host.Transients
	Prober      Prober
	Lock        Lock
}
