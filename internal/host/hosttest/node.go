package hosttest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
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
type Node struct {
	mu      sync.Mutex
	options Options

	// What a power cut leaves.
	disk   *disk
	menu   []deployment // boot menu, the first boots next
	commit map[string]inode
	// imported are the commits that came from elsewhere, arguments those of the kernel by stateroot.
	imported  []string
	arguments map[string][]string

	// What it does not.
	powered, rebooting bool
	grace              int
	booted             deployment
	boots              int
	running            map[string]*unitRun
	queue              []string // units that Settle runs
	net                network
	openNet            *network // what a transaction under way goes back to
	pendingNet         *pendingNetwork
	netWatchers        map[chan struct{}]struct{}
	held               *hold // the node's lock
	flows              []host.Reservation
	containers         bool // of the cluster

	// What the test says.
	programs                   map[string]Program
	commands                   map[string]Command
	every                      map[string]Program
	cannotSetDefault           error
	kernelArguments            []string
	silent, refusing, occupied map[netip.Addr]bool
	deaf                       bool                    // the node's own DNS server
	known                      map[netip.Addr][]string // what a name server is limited to
	registry                   registry
	segments                   map[netip.Addr]int // VLAN on which a machine is
	proxied                    []netip.Prefix
	served                     map[string]error // what answers, by target

	trap            trap
	killed          bool // the program that runs
	life            int  // counts boots and kills: what is older is gone
	seen, struck    int
	ops             []Op
	failures        []error
	programsRunning map[int]context.CancelCauseFunc
	nextProgram     int
}

// NewNode makes a node that looks like a single-node OpenShift, and boots it. Its
// cluster is up.
func NewNode(o Options) *Node {
	o = o.withDefaults()
	n := &Node{
		options: o, disk: newDisk(o.Free), commit: osCommit(),
		running: map[string]*unitRun{}, arguments: map[string][]string{},
		programs: map[string]Program{}, commands: builtins(), every: map[string]Program{},
		silent: map[netip.Addr]bool{}, refusing: map[netip.Addr]bool{}, occupied: map[netip.Addr]bool{},
		segments: map[netip.Addr]int{},
		known:    map[netip.Addr][]string{}, served: map[string]error{},
		programsRunning: map[int]context.CancelCauseFunc{},
	}
	n.programs[host.UnitKubelet] = n.StartCluster
	n.booted = deployment{stateroot: o.Stateroot, checksum: o.Commit}
	n.menu = []deployment{n.booted}
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
	if err := n.osInit(n.booted.stateroot); err != nil {
		return err
	}
	if err := n.checkout(n.booted); err != nil {
		return err
	}
	for p, in := range n.installed() {
		if err := n.disk.put(n.physical(p), in, true); err != nil {
			return err
		}
	}
	return nil
}

// Failures are the errors with which units ended since the node was made.
func (n *Node) Failures() []error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.failures)
}

// SetFree sets the room left on the disk in bytes.
func (n *Node) SetFree(bytes int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.disk.free = bytes
}

// Seed puts a file on the disk of the booted system as if it had always been there: it
// is no change that CrashWhen sees.
func (n *Node) Seed(p string, data []byte) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	at, err := n.resolve(p, true)
	if err != nil {
		return err
	}
	return n.disk.put(at, inode{mode: 0o644, data: slices.Clone(data)}, true)
}

// Chtimes sets a file's modification time.
func (n *Node) Chtimes(p string, mtime time.Time) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	at, in, err := n.look(p, true)
	if err != nil {
		return err
	}
	in.mtime = mtime
	return n.disk.put(at, in, true)
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
