package machine

import (
	"errors"
	"fmt"
)

// Op is one change to the node, as CrashWhen and Ops see it.
type Op struct {
	// Name says what is changed: "files.write", "trees.mirror", "deployments.set-default", ...
	Name   string
	Target string
}

func (o Op) String() string { return o.Name + " " + o.Target }

// trap decides before each change what becomes of it: nil lets it happen, PowerCut and
// Killed strike, any other error is what the change fails with. seen counts from 1.
type trap func(op Op, seen int) error

// Controls are what a test does to a machine from outside: it runs programs on it and ends them, or it, at any change.
type Controls struct{ n *Machine }

// Controls are those of the machine.
func (n *Machine) Controls() Controls { return Controls{n} }

// CrashAt cuts the power right before the n-th change from now (1 is the next one) takes
// effect. Only one of the Crash, Kill and Fail functions is armed at a time.
func (c Controls) CrashAt(at int) {
	c.CrashWhen(func(_ Op, seen int) bool { return seen == at })
}

// CrashWhen cuts the power right before the first change for which when says so; seen
// counts the changes from now, from 1. It strikes once.
func (c Controls) CrashWhen(when func(op Op, seen int) bool) { c.arm(PowerCut, when) }

// KillAt is CrashAt for the program alone: it is killed and the node lives on.
func (c Controls) KillAt(at int) {
	c.KillWhen(func(_ Op, seen int) bool { return seen == at })
}

// KillWhen is CrashWhen for the program alone.
func (c Controls) KillWhen(when func(op Op, seen int) bool) { c.arm(Killed, when) }

// FailWhen makes changes fail with the error that fail returns for them, until
// another trap is armed or Disarm is called.
func (c Controls) FailWhen(fail func(op Op, seen int) error) {
	c.n.Lock()
	defer c.n.Unlock()
	c.n.trap, c.n.seen = fail, 0
}

// Struck counts how often a trap ended or failed a change: a test that walks through all changes
// is through when CrashAt no longer strikes.
func (c Controls) Struck() int {
	c.n.Lock()
	defer c.n.Unlock()
	return c.n.struck
}

// Disarm lets changes happen again.
func (c Controls) Disarm() { c.FailWhen(nil) }

func (c Controls) arm(what error, when func(op Op, seen int) bool) {
	c.FailWhen(func(op Op, seen int) error {
		if when(op, seen) {
			return what
		}
		return nil
	})
}

// Cut takes the power away now, between two changes.
func (c Controls) Cut() {
	c.n.Lock()
	defer c.n.Unlock()
	c.n.die()
}

// CutHere is Cut for use inside a program; it does not return.
func (c Controls) CutHere() {
	c.Cut()
	panic(PowerCut)
}

// KillHere ends the program that calls it; it does not return.
func (c Controls) KillHere() {
	c.n.Lock()
	c.n.killed = true
	c.n.Unlock()
	panic(Killed)
}

// Ops lists all changes since the node was made or ForgetOps was called.
func (c Controls) Ops() []Op {
	c.n.Lock()
	defer c.n.Unlock()
	return append([]Op(nil), c.n.ops...)
}

// ForgetOps empties the list that Ops returns.
func (c Controls) ForgetOps() {
	c.n.Lock()
	defer c.n.Unlock()
	c.n.ops = nil
}

// Change announces a change that is about to take effect; here the node may die, and the
// change may fail. The caller holds the lock and releases it by defer.
func (n *Machine) Change(name, target string) error {
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
