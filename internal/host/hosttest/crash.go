package hosttest

import (
	"context"
	"errors"
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
)

// Op is one change to the node, as CrashWhen and Ops see it.
type Op struct {
	// Name says what is changed: "files.write", "trees.mirror", "deployments.set-default", ...
	Name   string
	Target string
}

func (o Op) String() string { return o.Name + " " + o.Target }

// Survive runs fn and says whether the power was cut while it ran. The end of a
// program by a reboot is survived too; any other panic goes on.
func Survive(fn func()) (died bool) {
	defer func() {
		if end := caught(recover()); end != nil {
			died = errors.Is(end, PowerCut)
		}
	}()
	fn()
	return false
}

// caught tells the two endings from other panics, which it lets go on.
func caught(panicked any) error {
	if panicked == nil {
		return nil
	}
	if end, ok := panicked.(*ending); ok {
		return end
	}
	panic(panicked)
}

// Run runs a program on the node. It returns the program's error, or PowerCut or
// Rebooted where the node ended it. The program's context is cancelled when
// that happens, so that waiting for the end does end.
//
// Only the goroutine that Run was called on is caught: a program under test must make its
// port calls from there.
func (n *Node) Run(ctx context.Context, program func(context.Context) error) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer n.whenEnding(cancel)()
	defer func() {
		if end := caught(recover()); end != nil {
			err = end
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

// CrashAt cuts the power right before the n-th change from now (1 is the next one) takes effect.
func (n *Node) CrashAt(at int) {
	n.CrashWhen(func(_ Op, seen int) bool { return seen == at })
}

// CrashWhen cuts the power right before the first change for which when says so; seen
// counts the changes from now, from 1. It strikes once. nil disarms.
func (n *Node) CrashWhen(when func(op Op, seen int) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.crash, n.seen = when, 0
}

// Cut takes the power away now, between two changes.
func (n *Node) Cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.die()
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

// op announces a change that is about to take effect; here the node may die.
// The caller holds the lock and releases it by defer.
func (n *Node) op(name, target string) {
	if end := n.ended(); end != nil {
		panic(end)
	}
	op := Op{name, target}
	n.seen++
	if n.crash != nil && n.crash(op, n.seen) {
		n.die()
		panic(PowerCut)
	}
	n.ops = append(n.ops, op)
	if n.rebooting {
		n.grace--
	}
}

func (n *Node) die() {
	n.powered, n.crash = false, nil
	n.endPrograms(PowerCut)
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
