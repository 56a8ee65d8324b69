package hosttest

import (
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/etcd"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/machine"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/network"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/systemd"
)

type (
	// Op is one change to the node, as CrashWhen and Ops see it.
	Op = machine.Op
	// Program is what a unit does when it starts.
	Program = systemd.Program
	// Command is what an argument vector does.
	Command = systemd.Command
	// Exit is the error of a program that ends with an exit code of its own.
	Exit = systemd.Exit
)

// How a program or a node ends, and what a test may find wrong with one: errors of the rooms that tests compare with.
var (
	PowerCut     = machine.PowerCut
	Rebooted     = machine.Rebooted
	Killed       = machine.Killed
	ErrDeadlock  = systemd.ErrDeadlock
	ErrStays     = systemd.ErrStays
	ErrUntrusted = network.ErrUntrusted
	ErrMissing   = network.ErrMissing
	ErrHotCopy   = etcd.ErrHotCopy
)

// Survive runs fn and says whether the power was cut while it ran.
func Survive(fn func()) (died bool) { return machine.Survive(fn) }
