// Package probe is the host.Prober port with raw sockets: it proves that a
// network carries traffic, and needs no ping, arping or dig. lca-cli and the
// node agent construct it; it needs CAP_NET_RAW and must run in the node's
// network namespace. It must not import a domain package or a sibling adapter.
package probe

import (
	"context"
	"errors"
	"net/netip"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Prober implements host.Prober. Every method tries again until ctx ends, so
// give each a deadline.
type Prober struct{}

var _ host.Prober = (*Prober)(nil)

// New makes a Prober.
func New() *Prober { return &Prober{} }

var errTodo = errors.New("not yet written")

// Gateway implements host.Prober.
func (p *Prober) Gateway(ctx context.Context, gw netip.Addr, iface string) error { return errTodo }

// DNS implements host.Prober.
func (p *Prober) DNS(ctx context.Context, server netip.Addr) error { return errTodo }

// InUse implements host.Prober.
func (p *Prober) InUse(ctx context.Context, addr netip.Addr, iface string) (bool, error) {
	return false, errTodo
}
