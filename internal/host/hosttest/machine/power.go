package machine

import (
	"context"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Powered says that the machine has power.
func (n *Machine) Powered() bool { return n.powered }

// EndBoot settles what the end of a boot means for the disk: it is flushed where the machine goes down in good order.
// What lives in memory is gone.
func (n *Machine) EndBoot() {
	if n.powered {
		n.Disk.Sync()
	} else {
		n.Disk.Lose(n.options.TornWrites)
	}
	n.Disk.DropVolatile()
}

// PowerOn begins a boot of the deployment.
func (n *Machine) PowerOn(d host.Deployment) {
	n.Booted, n.powered, n.rebooting, n.killed = d, true, false, false
	n.Boots++
	n.Life++
}

// PowerOff leaves the machine down: it cannot boot.
func (n *Machine) PowerOff() { n.powered = false }

// Peek shows the disk as after a power cut until the returned function is called.
func (n *Machine) Peek() (back func()) {
	now := *n.Disk
	n.Disk.Lose(n.options.TornWrites)
	return func() { *n.Disk = now }
}

// BootID is the kernel's name of the boot that runs.
func (n *Machine) BootID() string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n.Boots) }

// Power is the machine's host.Power.
func (n *Machine) Power() host.Power { return power{n} }

type power struct{ n *Machine }

func (p power) Reboot(context.Context, string) error {
	n := p.n
	n.Enter()
	defer n.Unlock()
	if n.rebooting {
		return nil
	}
	if err := n.Change("power.reboot", ""); err != nil {
		return err
	}
	n.rebooting, n.grace = true, n.options.RebootGrace
	n.endPrograms(Rebooted)
	return nil
}

func (p power) BootID(context.Context) (string, error) {
	p.n.Enter()
	defer p.n.Unlock()
	return p.n.BootID(), nil
}
