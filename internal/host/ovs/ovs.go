// Package ovs is the host.Switch port over Open vSwitch's database socket
// (OVSDB, RFC 7047); it needs no ovs-vsctl. lca-cli and the operator construct
// it; package nm takes it as source of what only Open vSwitch knows. It must
// not import a domain package or a sibling adapter.
package ovs

import (
	"context"
	"errors"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// DefaultSocket is where ovsdb-server listens on every distribution we know.
const DefaultSocket = "/run/openvswitch/db.sock"

// Switch asks the Open vSwitch database at a unix socket.
type Switch struct{ socket string }

var _ host.Switch = (*Switch)(nil)

// New makes a Switch over the socket; empty means DefaultSocket. It connects to nothing yet.
func New(socket string) *Switch {
	if socket == "" {
		socket = DefaultSocket
	}
	return &Switch{socket: socket}
}

var errTodo = errors.New("not yet written")

// Uplink implements host.Switch.
func (s *Switch) Uplink(ctx context.Context, bridge string) (string, error) { return "", errTodo }

// Interfaces lists the ovs-bridge entries with their ports and the ovs-interface
// entries, without addresses. A system without Open vSwitch has none.
func (s *Switch) Interfaces(ctx context.Context) ([]netstate.Interface, error) { return nil, errTodo }
