// Package machine is the computer below a fake node: a disk that is seen through the booted deployment, power that can
// fail before any single change, and programs that end with it.
//
// The other rooms of hosttest embed a Machine and keep their own state under its lock. A port call begins with Enter and
// announces each change to the disk or the node with Change; what a test does to the node from outside takes Lock.
//
// Tests only. The package imports the ports and the standard library; it must not import another room of hosttest.
package machine

import (
	"context"
	"io/fs"
	"slices"
	"sync"
	"syscall"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Options shape the machine that New makes.
type Options struct {
	// Free is the room left on the disk in bytes.
	Free int64
	// TornWrites leaves files that were not synced behind as empty at a power cut, instead of not at all.
	TornWrites bool
	// RebootGrace is how many more changes a program gets done after it asked for a reboot.
	RebootGrace int
}

// Machine is a computer in memory. What is exported of it is read and written under its lock.
type Machine struct {
	mu      sync.Mutex
	options Options

	// Disk is what a power cut leaves a part of.
	Disk *Disk
	// Booted is the deployment that runs.
	Booted host.Deployment
	// Boots counts the boots.
	Boots int
	// Life counts boots and kills: what is older is gone.
	Life int

	roots              roots // of Booted
	powered, rebooting bool
	grace              int
	killed             bool // the program that runs
	onKill             []func()
	programs           map[int]context.CancelCauseFunc
	lastProgram        int

	trap         trap
	seen, struck int
	ops          []Op
}

// New makes a machine without power whose disk is empty.
func New(o Options) *Machine {
	return &Machine{options: o, Disk: newDisk(o.Free), programs: map[int]context.CancelCauseFunc{}}
}

// Lock begins what is no port call: it works without power too.
func (n *Machine) Lock() { n.mu.Lock() }

// Unlock ends what Lock or Enter began.
func (n *Machine) Unlock() { n.mu.Unlock() }

// Enter begins a port call. It panics, unlocked, where the node has ended.
func (n *Machine) Enter() {
	n.mu.Lock()
	if end := n.ended(); end != nil {
		n.mu.Unlock()
		panic(end)
	}
}

// ReadFile reads a file by its path in the booted system.
func (n *Machine) ReadFile(p string) ([]byte, error) {
	_, in, err := n.Look(p, true)
	if err != nil {
		return nil, err
	}
	if in.IsDir() {
		return nil, &fs.PathError{Op: "read", Path: p, Err: syscall.EISDIR}
	}
	return slices.Clone(in.Data), nil
}

// WriteDurable puts an entry at its path in the booted system, where a power cut leaves it.
func (n *Machine) WriteDurable(p string, in Inode) error {
	at, err := n.Resolve(p, false)
	if err != nil {
		return err
	}
	return n.Disk.Put(at, in, true)
}
