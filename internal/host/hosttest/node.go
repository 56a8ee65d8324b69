package hosttest

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/etcd"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/machine"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/network"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/ostree"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/systemd"
)

// Options shape the node that NewNode makes. The zero value is a single-stack
// node "rhcos" with 192.0.2.10/24.
type Options struct {
	// Stateroot that is booted.
	Stateroot string
	// Commit is the checksum of the booted system; empty for one that all nodes share.
	Commit string
	// Addresses of the node with their networks, the primary one first.
	Addresses []netip.Prefix
	// Gateways, at most one for each family.
	Gateways []netip.Addr
	DNS      []netip.Addr
	// Uplink is the physical interface below br-ex; VLAN its tag, 0 for none.
	Uplink string
	VLAN   int
	// Free is the room left on the disk in bytes.
	Free int64
	// FreeInodes is how many files may still be created, as Trees.Free reports it; 0 for no limit.
	FreeInodes int64
	// Reflinks has Trees.Shares say that copies share their data. Copies take room all the same.
	Reflinks bool
	// StoreBatch is how many edits one transaction of the keystore takes.
	StoreBatch int
	// TornWrites leaves files that were not synced behind as empty at a power cut,
	// instead of not at all.
	TornWrites bool
	// RebootGrace is how many more changes a program gets done after it asked for a reboot.
	RebootGrace int
}

func (o Options) withDefaults() Options {
	o.Stateroot = cmp.Or(o.Stateroot, "rhcos")
	o.Commit = cmp.Or(o.Commit, Checksum)
	o.Uplink = cmp.Or(o.Uplink, "enp1s0")
	o.Free = cmp.Or(o.Free, 1<<40)
	o.StoreBatch = cmp.Or(o.StoreBatch, 4)
	if o.Addresses == nil {
		o.Addresses = []netip.Prefix{netip.MustParsePrefix("192.0.2.10/24")}
		o.Gateways = []netip.Addr{netip.MustParseAddr("192.0.2.1")}
	}
	if o.DNS == nil {
		o.DNS = []netip.Addr{netip.MustParseAddr("192.0.2.53")}
	}
	return o
}

// Node is a machine in memory. All methods may be called from many goroutines.
//
// Its parts are rooms of their own, which share the machine's disk, power and lock; their methods are the node's.
type Node struct {
	machine.Controls
	*ostree.Sysroot
	*systemd.Manager
	*network.Links
	*etcd.Member
	m       *machine.Machine
	options Options

	held       *hold // the node's lock
	flows      []host.Reservation
	containers bool // of the cluster
	deaf       bool // the node's own DNS server
}

// NewNode makes a node that looks like a single-node OpenShift, and boots it. Its
// cluster is up.
func NewNode(o Options) *Node {
	o = o.withDefaults()
	m := machine.New(machine.Options{Free: o.Free, TornWrites: o.TornWrites, RebootGrace: o.RebootGrace})
	n := &Node{m: m, options: o, Controls: m.Controls(), Sysroot: ostree.New(m, osCommit())}
	n.Manager = systemd.New(m, n.started)
	n.Links = network.New(m, network.Options{
		Addresses: o.Addresses, Gateways: o.Gateways, DNS: o.DNS, Uplink: o.Uplink, VLAN: o.VLAN,
	}, n.listensToItself)
	n.Member = etcd.New(m, o.StoreBatch, func() bool { return n.containers })
	n.Program(host.UnitKubelet, n.StartCluster)
	if err := n.install(); err != nil {
		panic(fmt.Sprintf("hosttest: install node: %v", err))
	}
	if err := n.Boot(context.Background()); err != nil {
		panic(fmt.Sprintf("hosttest: first boot: %v", err))
	}
	n.ForgetOps()
	return n
}

// install writes the booted deployment.
func (n *Node) install() error {
	if err := n.Install(host.Deployment{Stateroot: n.options.Stateroot, Checksum: n.options.Commit}); err != nil {
		return err
	}
	for p, in := range n.installed() {
		if err := n.m.Disk.Put(n.m.Physical(p), in, true); err != nil {
			return err
		}
	}
	return nil
}

// SetFree sets the room left on the disk in bytes.
func (n *Node) SetFree(bytes int64) {
	n.m.Lock()
	defer n.m.Unlock()
	n.m.Disk.Free = bytes
}

// Seed puts a file on the disk of the booted system as if it had always been there: it
// is no change that CrashWhen sees.
func (n *Node) Seed(p string, data []byte) error {
	n.m.Lock()
	defer n.m.Unlock()
	at, err := n.m.Resolve(p, true)
	if err != nil {
		return err
	}
	return n.m.Disk.Put(at, machine.Inode{Mode: 0o644, Data: slices.Clone(data)}, true)
}

// Chtimes sets a file's modification time.
func (n *Node) Chtimes(p string, mtime time.Time) error {
	n.m.Lock()
	defer n.m.Unlock()
	at, in, err := n.m.Look(p, true)
	if err != nil {
		return err
	}
	in.MTime = mtime
	return n.m.Disk.Put(at, in, true)
}
