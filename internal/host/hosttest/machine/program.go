package machine

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
	// Killed is what every port call of a program panics with once that program was killed.
	// The node lives on.
	Killed error = &ending{"the program was killed"}
)

// Survive runs fn and says whether the power was cut while it ran. The other ends of a
// program are survived too; any other panic propagates. Programs belong into Run or
// units, which also tell the node that they ended.
func Survive(fn func()) (died bool) {
	defer func() {
		if end := Caught(recover()); end != nil {
			died = errors.Is(end, PowerCut)
		}
	}()
	fn()
	return false
}

// Caught separates the endings from other panics, which propagate.
func Caught(panicked any) error {
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
func (c Controls) Run(ctx context.Context, program func(context.Context) error) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer c.n.whenEnding(cancel)()
	defer func() {
		if end := Caught(recover()); end != nil {
			err = end
			c.n.Bury()
		}
	}()
	if err := c.n.whyEnded(); err != nil {
		return err
	}
	err = program(ctx)
	if end := c.n.whyEnded(); end != nil {
		return end
	}
	return err
}

// Alive says that the node has power and is not on its way down.
func (c Controls) Alive() bool { return c.n.whyEnded() == nil }

func (n *Machine) whyEnded() error {
	n.Lock()
	defer n.Unlock()
	if end := n.ended(); end != nil {
		return end
	}
	if n.rebooting {
		return Rebooted
	}
	return nil
}

// ended is the reason why port calls do not return any more, or nil.
func (n *Machine) ended() error {
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

func (n *Machine) die() {
	n.powered, n.trap = false, nil
	n.endPrograms(PowerCut)
}

// Bury settles what a killed program leaves behind: what was given to OnKill runs.
func (n *Machine) Bury() {
	n.Lock()
	defer n.Unlock()
	if !n.killed {
		return
	}
	n.killed = false
	n.Life++
	for _, do := range n.onKill {
		do()
	}
}

// OnKill registers what runs, under the lock, after a program was killed.
func (n *Machine) OnKill(do func()) { n.onKill = append(n.onKill, do) }

func (n *Machine) endPrograms(why error) {
	for _, cancel := range n.programs {
		cancel(why)
	}
}

// whenEnding has cancel called when the node dies or reboots, until the returned
// function is called.
func (n *Machine) whenEnding(cancel context.CancelCauseFunc) (forget func()) {
	n.Lock()
	defer n.Unlock()
	id := n.NextProgram()
	n.programs[id] = cancel
	return func() {
		n.Lock()
		defer n.Unlock()
		delete(n.programs, id)
	}
}

// NextProgram is the number of a program that begins; none has it twice.
func (n *Machine) NextProgram() int {
	n.lastProgram++
	return n.lastProgram
}
