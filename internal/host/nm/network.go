// Package nm is the host.Network port over NetworkManager's D-Bus API, with the
// kernel (netlink) as witness of what really runs.
//
// lca-cli and the node agent construct it. It imports the host port, netstate, godbus and netlink;
// it must not import a domain package, a sibling adapter or Kubernetes.
//
// Sub-packages: plan computes the changes of profiles, profile is NetworkManager's view as data, kernel reads and repairs
// what rtnetlink knows, nodewide changes what no profile holds, watch wakes observers.
//
// The promise it is built around: killing this process, NetworkManager or the
// power at any moment leaves the old network or the committed new one, never
// an unverified one. See transaction.go for how.
//
// A power cut between two saves leaves a mixed set of key files. RecoverFiles completes or undoes it from the journal
// without NetworkManager; a unit ordered Before=NetworkManager.service and After=local-fs.target calls it through
// lca-cli. Recover settles everything else, and is called when the agent or lca-cli starts and after NetworkManager
// restarted: it then no longer holds the checkpoint that would undo an unverified change. Callers hold the node's lock.
//
// D-Bus API: https://networkmanager.dev/docs/api/latest/spec.html, versions
// 1.42 to 1.52 are tested.
package nm

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nodewide"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Files is the part of host.Files this package needs; host.Files satisfies it.
// Its root must be the root of the system whose NetworkManager is on the bus.
type Files interface {
	Read(path string) ([]byte, error)
	Write(path string, data []byte, mode fs.FileMode) error
	Append(path string, data []byte, mode fs.FileMode) error
	Remove(path string) error
	List(path string) ([]string, error)
}

// Interfaces lists interfaces that only Open vSwitch knows; package ovs implements it.
type Interfaces interface {
	// Interfaces lists the ovs-bridge (with ports) and ovs-interface entries, without
	// addresses. A system without Open vSwitch has none.
	Interfaces(ctx context.Context) ([]netstate.Interface, error)
}

// Watcher is what an Interfaces may be, too: it reports changes by calling changed until ctx ends or it breaks.
type Watcher interface {
	Watch(ctx context.Context, changed func()) error
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
	// Switch adds what Open vSwitch knows to Observe; nil for none. One that is a nodewide.Database, too, writes the node's
	// own row.
	Switch Interfaces
	// Names are the node's; nil shows them and changes none.
	Names nodewide.Names
	Log   *slog.Logger
	// Lease is how long NetworkManager waits for a sign of life of this process before it
	// puts the old network back. Default 4 s, at least 3 s; a change of many profiles gets more.
	Lease time.Duration
	// Settle bounds how long the new network may take to be in place. Default 60 s.
	Settle time.Duration
	// Foreign bounds the wait for addresses and routes of other programs that a change took away and that cannot be put back
	// yet. Default 10 s.
	Foreign time.Duration
	// Now is the clock, for the journal's time stamps. Default time.Now.
	Now func() time.Time
	// ManagerLog returns the last lines of NetworkManager's log, which say who made a checkpoint; nil leaves that unknown.
	ManagerLog func(ctx context.Context) ([]byte, error)
	// Boot identifies the boot of the machine. Default: the kernel's boot id.
	Boot func() string
}

// Network is host.Network over NetworkManager. Its methods may be called from
// several goroutines; Apply and Recover run one at a time.
type Network struct {
	o  Options
	mu sync.Mutex
	// observing is held by the observation that runs: that of thousands of links takes tens of megabytes, and an agent has several
	// observers, which one change wakes together.
	observing chan struct{}
}

var (
	_ host.Network            = (*Network)(nil)
	_ host.NetworkTransaction = (*Network)(nil)
	_ host.NetworkPlanner     = (*Network)(nil)
	_ host.NetworkWatch       = (*Network)(nil)
	_ host.NetworkTrials      = (*Network)(nil)
)

// New makes a Network. It connects to nothing yet.
func New(o Options) *Network {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Lease == 0 {
		o.Lease = 4 * time.Second
	}
	o.Lease = max(o.Lease, 3*time.Second)
	if o.Settle == 0 {
		o.Settle = time.Minute
	}
	if o.Foreign == 0 {
		o.Foreign = 10 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Boot == nil {
		o.Boot = bootID
	}
	return &Network{o: o, observing: make(chan struct{}, 1)}
}

// bootID is the kernel's; empty where it cannot be read, and then every record counts as of this boot.
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
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
