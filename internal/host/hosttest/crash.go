package hosttest

import (
	"context"
	"errors"
	"fmt"
)

// ending is how a program on the node ends without returning.
type ending struct{ why string }

func (e *ending) Error() string { return e.why }

var (
	// PowerCut is what every port call panics with once the node has lost power.
	PowerCut error = &ending{"the node lost power"}
	// Rebooted is what every port call panics with once a reboot was asked for
	// (and Options.RebootGrace is used up): systemd has ended the program.
	Rebooted error = &ending{"the node is rebooting"}
	// Killed is what every port call of a program panics with once that program was killed.
	// The node lives on.
	Killed error = &ending{"the program was killed"}
)

// Op is one change to the node, as CrashWhen and Ops see it.
type Op struct {
	// Name says what is changed: "files.write", "trees.mirror", "deployments.set-default", ...
	Name   string
	Target string
}

func (o Op) String() string { return o.Name + " " + o.Target }

// Survive runs fn and says whether the power was cut while it ran. The other ends of a
// program are survived too; any other panic propagates. Programs belong into Run or
// units, which also tell the node that they ended.
func Survive(fn func()) (died bool) {
	defer func() {
		if end := caught(recover()); end != nil {
			died = errors.Is(end, PowerCut)
		}
	}()
	fn()
	return false
}

// caught separates the two endings from other panics, which propagate.
func caught(panicked any) error {
	if panicked == nil {
		return nil
	}
	if end, ok := panicked.(*ending); ok {
		return end
	}
	panic(panicked)
}

// Run runs a program on the node. It returns the program's error, or PowerCut, Rebooted or
// Killed where it was ended. The program's context is cancelled when the node goes
// down, so that waiting for the end does end.
//
// Only the goroutine that Run was called on is caught, and a kill ends whatever makes
// port calls at the time: programs must make them from there, one at a time.
func (n *Node) Run(ctx context.Context, program func(context.Context) error) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer n.whenEnding(cancel)()
	defer func() {
		if end := caught(recover()); end != nil {
			err = end
			n.bury()
		}
	}()
	if err := n.whyEnded(); err != nil {
		return err
	}
	err = program(ctx)
	if end := n.whyEnded(); end != nil {
		return end
	}
	return err
}

// trap decides before each change what becomes of it: nil lets it happen, PowerCut and
// Killed strike, any other error is what the change fails with. seen counts from 1.
type trap func(op Op, seen int) error

// CrashAt cuts the power right before the n-th change from now (1 is the next one) takes
// effect. Only one of the Crash, Kill and Fail functions is armed at a time.
func (n *Node) CrashAt(at int) {
	n.CrashWhen(func(_ Op, seen int) bool { return seen == at })
}

// CrashWhen cuts the power right before the first change for which when says so; seen
// counts the changes from now, from 1. It strikes once.
func (n *Node) CrashWhen(when func(op Op, seen int) bool) { n.arm(PowerCut, when) }

// KillAt is CrashAt for the program alone: it is killed and the node lives on.
func (n *Node) KillAt(at int) {
	n.KillWhen(func(_ Op, seen int) bool { return seen == at })
}

// KillWhen is CrashWhen for the program alone.
func (n *Node) KillWhen(when func(op Op, seen int) bool) { n.arm(Killed, when) }

// FailWhen makes changes fail with the error that fail returns for them, until
// another trap is armed or Disarm is called.
func (n *Node) FailWhen(fail func(op Op, seen int) error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.trap, n.seen = fail, 0
}

// Struck counts how often a trap ended or failed a change: a test that walks through all changes
// is through when CrashAt no longer strikes.
func (n *Node) Struck() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.struck
}

// Disarm lets changes happen again.
func (n *Node) Disarm() { n.FailWhen(nil) }

func (n *Node) arm(what error, when func(op Op, seen int) bool) {
	n.FailWhen(func(op Op, seen int) error {
		if when(op, seen) {
			return what
		}
		return nil
	})
}

// Cut takes the power away now, between two changes.
func (n *Node) Cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.die()
}

// CutHere is Cut for use inside a program; it does not return.
func (n *Node) CutHere() {
	n.Cut()
	panic(PowerCut)
}

// KillHere ends the program that calls it; it does not return.
func (n *Node) KillHere() {
	n.mu.Lock()
	n.killed = true
	n.mu.Unlock()
	panic(Killed)
}

// Ops lists all changes since the node was made or ForgetOps was called.
func (n *Node) Ops() []Op {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]Op(nil), n.ops...)
}

// ForgetOps empties the list that Ops returns.
func (n *Node) ForgetOps() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ops = nil
}

// Alive says that the node has power and is not on its way down.
func (n *Node) Alive() bool { return n.whyEnded() == nil }

func (n *Node) whyEnded() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if end := n.ended(); end != nil {
		return end
	}
	if n.rebooting {
		return Rebooted
	}
	return nil
}

// ended is the reason why port calls do not return any more, or nil.
func (n *Node) ended() error {
	switch {
	case !n.powered:
		return PowerCut
	case n.rebooting && n.grace <= 0:
		return Rebooted
	case n.killed:
		return Killed
	}
	return nil
}

// lock begins a port call. It panics, unlocked, where the node has ended.
func (n *Node) lock() {
	n.mu.Lock()
	if end := n.ended(); end != nil {
		n.mu.Unlock()
		panic(end)
	}
}

// op announces a change that is about to take effect; here the node may die, and the
// change may fail. The caller holds the lock and releases it by defer.
func (n *Node) op(name, target string) error {
	if end := n.ended(); end != nil {
		panic(end)
	}
	op := Op{name, target}
	n.seen++
	if n.trap != nil {
		switch err := n.trap(op, n.seen); {
		case err == nil:
		case errors.Is(err, PowerCut):
			n.struck++
			n.die()
			panic(PowerCut)
		case errors.Is(err, Killed):
			n.struck++
			n.killed, n.trap = true, nil
			panic(Killed)
		default:
			n.struck++
			return fmt.Errorf("%s: %w", op, err)
		}
	}
	n.ops = append(n.ops, op)
	if n.rebooting {
		n.grace--
	}
	return nil
}

func (n *Node) die() {
	n.powered, n.trap = false, nil
	n.endPrograms(PowerCut)
}

// bury settles what a killed program leaves behind: its network transaction is rolled back and
// its etcd goes with it.
func (n *Node) bury() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.killed {
		return
	}
	n.killed = false
	n.life++
	if n.openNet != nil {
		n.net, n.openNet = *n.openNet, nil
	}
}

func (n *Node) endPrograms(why error) {
	for _, cancel := range n.programsRunning {
		cancel(why)
	}
}

// whenEnding has cancel called when the node dies or reboots, until the returned
// function is called.
func (n *Node) whenEnding(cancel context.CancelCauseFunc) (forget func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.nextProgram++
	id := n.nextProgram
	n.programsRunning[id] = cancel
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.programsRunning, id)
	}
}
