package nm

import (
	"context"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Files is the part of host.Files this package needs; host.Files satisfies it.
// Its root must be the root of the system whose NetworkManager is on the bus.
type Files interface {
	Read(path string) ([]byte, error)
	Write(path string, data []byte, mode fs.FileMode) error
	Remove(path string) error
	List(path string) ([]string, error)
}

// Interfaces lists interfaces that only Open vSwitch knows; package ovs implements it.
type Interfaces interface {
	// Interfaces lists the ovs-bridge (with ports) and ovs-interface entries, without
	// addresses. A system without Open vSwitch has none.
	Interfaces(ctx context.Context) ([]netstate.Interface, error)
}

// Options are the parts a Network is made of. Bus, Files and StateDir are
// needed; everything else has a default.
type Options struct {
	// Bus opens a new connection to the bus NetworkManager is on; it is closed after each call.
	Bus func() (*dbus.Conn, error)
	// Files are the node's files: key files and the transaction journal.
	Files Files
	// StateDir holds the transaction journal, "/var/lib/lca/network" say. It must be on a disk.
	StateDir string
	// Switch adds what Open vSwitch knows to Observe; nil for none.
	Switch Interfaces
	Log    *slog.Logger
	// Lease is how long NetworkManager waits for a sign of life of this process before it
	// puts the old network back. Default 30 s, at least 3 s.
	Lease time.Duration
	// Settle bounds how long the new network may take to be in place. Default 60 s.
	Settle time.Duration
	// Now is the clock, for the journal's time stamps. Default time.Now.
	Now func() time.Time
}

// Network is host.Network over NetworkManager. Its methods may be called from
// several goroutines; Apply and Recover run one at a time.
type Network struct {
	o  Options
	mu sync.Mutex
}

var _ host.Network = (*Network)(nil)

// New makes a Network. It connects to nothing yet.
func New(o Options) *Network {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Lease == 0 {
		o.Lease = 30 * time.Second
	}
	o.Lease = max(o.Lease, 3*time.Second)
	if o.Settle == 0 {
		o.Settle = time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Network{o: o}
}

// SystemBus opens the bus at the given address ("unix:path=/run/dbus/system_bus_socket"),
// or the system bus of this process's environment for an empty one.
func SystemBus(address string) func() (*dbus.Conn, error) {
	return func() (*dbus.Conn, error) {
		if address == "" {
			return dbus.ConnectSystemBus()
		}
		return dbus.Connect(address)
	}
}
