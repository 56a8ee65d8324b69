package hosttest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// ErrBootLoop is returned by Settle where the node keeps rebooting.
var ErrBootLoop = errors.New("the node does not come to rest")

// Boot starts the node: it settles what the power cut or the reboot means for
// the disk, chooses the default deployment, brings the network up from its profiles and
// starts the enabled units. It returns PowerCut or Rebooted where the node
// went down again on the way, and an error where it cannot boot at all.
// Failing units do not fail it. A node that runs is rebooted in good order.
func (n *Node) Boot(ctx context.Context) error {
	if err := n.powerOn(); err != nil {
		return err
	}
	return n.Run(ctx, func(ctx context.Context) error {
		for _, unit := range n.bootOrder() {
			_ = n.startUnit(ctx, unit) // its failure is its own affair and in its state
		}
		return nil
	})
}

// powerOn is everything up to the start of systemd's units.
func (n *Node) powerOn() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.powered {
		n.shutDown()
	} else {
		n.disk.lose(n.options.TornWrites)
	}
	n.disk.dropVolatile()
	n.running, n.queue = map[string]*unitRun{}, nil
	n.containers = false
	if len(n.menu) == 0 {
		return errors.New("the node has no deployment to boot")
	}
	if err := n.bootable(n.menu[0]); err != nil {
		n.powered = false
		return err
	}
	n.booted, n.powered, n.rebooting = n.menu[0], true, false
	n.boots++
	n.life++
	n.openNet, n.killed = nil, false
	if err := n.volatileFiles(); err != nil {
		return err
	}
	return n.networkUp()
}

// shutDown is the orderly end of a boot: units stop and disks are flushed.
func (n *Node) shutDown() {
	n.stopContainers()
	n.disk.sync()
}

func (n *Node) bootID() string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n.boots) }

// volatileFiles are those the kernel and early boot make.
func (n *Node) volatileFiles() error {
	cmdline := fmt.Sprintf("root=UUID=fake rw ostree=/ostree/boot.1/%s/%s/%d\n",
		n.booted.stateroot, n.booted.checksum, n.booted.serial)
	for p, text := range map[string]string{
		host.BootIDFile: n.bootID() + "\n", host.KernelCmdline: cmdline, "/run/ostree-booted": "",
	} {
		if err := n.disk.put(p, inode{mode: 0o444, data: []byte(text)}, true); err != nil {
			return err
		}
	}
	return nil
}

// bootOrder lists the enabled units, by name but never before what they name in After=.
func (n *Node) bootOrder() []string {
	n.lock()
	defer n.mu.Unlock()
	enabled := n.enabledUnits("")
	var order []string
	var visit func(unit string)
	seen := map[string]bool{}
	visit = func(unit string) {
		if seen[unit] || !slices.Contains(enabled, unit) {
			return
		}
		seen[unit] = true
		file, _ := n.loadUnit("", unit)
		for _, before := range file.words("Unit.After") {
			visit(before)
		}
		order = append(order, unit)
	}
	for _, unit := range enabled {
		visit(unit)
	}
	return order
}

// Settle lets the node go on until nothing is left to happen: launched
// transients and restarts run, and a node that is down boots, at most
// maxBoots times. It returns ErrBootLoop when that does not suffice.
func (n *Node) Settle(ctx context.Context, maxBoots int) error {
	for boots := 0; ; {
		if n.Alive() {
			if unit, ok := n.next(); ok {
				_ = n.Run(ctx, func(ctx context.Context) error { // an end of the node is seen above
					n.runQueued(ctx, unit)
					return nil
				})
				continue
			}
			if n.Alive() {
				return nil
			}
		}
		if boots++; boots > maxBoots {
			return fmt.Errorf("%w: down again after %d boots", ErrBootLoop, maxBoots)
		}
		err := n.Boot(ctx)
		if err != nil && !errors.Is(err, PowerCut) && !errors.Is(err, Rebooted) {
			return err
		}
	}
}

func (n *Node) next() (string, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.queue) == 0 {
		return "", false
	}
	unit := n.queue[0]
	n.queue = n.queue[1:]
	return unit, true
}

// Power is the node's host.Power.
func (n *Node) Power() host.Power { return power{n} }

type power struct{ n *Node }

func (p power) Reboot(context.Context, string) error {
	n := p.n
	n.lock()
	defer n.mu.Unlock()
	if n.rebooting {
		return nil
	}
	if err := n.op("power.reboot", ""); err != nil {
		return err
	}
	n.rebooting, n.grace = true, n.options.RebootGrace
	n.endPrograms(Rebooted)
	return nil
}

func (p power) BootID(context.Context) (string, error) {
	p.n.lock()
	defer p.n.mu.Unlock()
	return p.n.bootID(), nil
}
