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
	n.restStores()
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
	n.openNet, n.pendingNet, n.killed, n.deaf = nil, nil, false, false
	if err := n.volatileFiles(); err != nil {
		return err
	}
	if err := n.forceDNS(); err != nil {
		return err
	}
	return n.networkUp()
}

// restStores: data that was in use when the power went is at rest now, and etcd recovers it, also from a copy that is made
// from here on. A copy that was made while it was in use still says so.
func (n *Node) restStores() {
	for _, name := range n.disk.children(host.DeployDir) {
		at := host.InVar(name, storeInUse)
		if by, err := n.readFile(at); err == nil && string(by) == name {
			n.disk.remove(at, true)
		}
	}
}

// shutDown is the orderly end of a boot: units stop and disks are flushed.
func (n *Node) shutDown() {
	n.stopContainers()
	n.disk.sync()
}

func (n *Node) bootID() string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n.boots) }

// ContainerStorage is the partition that every node has for its containers.
const ContainerStorage = "/dev/disk/by-partlabel/varlibcontainers"

// volatileFiles are those the kernel and early boot make.
func (n *Node) volatileFiles() error {
	cmdline := fmt.Sprintf("root=UUID=fake rw ostree=/ostree/boot.1/%s/%s/%d\n",
		n.booted.stateroot, n.booted.checksum, n.booted.serial)
	for p, text := range map[string]string{
		host.BootIDFile: n.bootID() + "\n", host.KernelCmdline: cmdline, "/run/ostree-booted": "",
		"/proc/1/mountinfo": "36 25 8:5 / /var/lib/containers rw,relatime shared:1 - xfs " + ContainerStorage + " rw,prjquota\n",
	} {
		if err := n.disk.put(p, inode{mode: 0o444, data: []byte(text)}, true); err != nil {
			return err
		}
	}
	return nil
}

// bootOrder lists the enabled units as systemd would get to them: what After= and Before= say, else
// oneshots last, because systemd starts the others while they run, else by name.
func (n *Node) bootOrder() []string {
	n.lock()
	defer n.mu.Unlock()
	enabled := n.enabledUnits("")
	slices.SortStableFunc(enabled, func(a, b string) int { return n.rank(a) - n.rank(b) })
	var order []string
	var visit func(unit string)
	seen := map[string]bool{}
	visit = func(unit string) {
		if seen[unit] {
			return
		}
		seen[unit] = true
		for _, other := range enabled {
			if n.ordered(other, unit) {
				visit(other)
			}
		}
		order = append(order, unit)
	}
	for _, unit := range enabled {
		visit(unit)
	}
	return order
}

func (n *Node) rank(unit string) int {
	if file, _ := n.loadUnit("", unit); file.oneshot() {
		return 1
	}
	return 0
}

// ordered says that a start of second waits for a start of first to end.
func (n *Node) ordered(first, second string) bool {
	a, _ := n.loadUnit("", first)
	b, _ := n.loadUnit("", second)
	return slices.Contains(a.words("Unit.Before"), second) || slices.Contains(b.words("Unit.After"), first)
}

// waitsFor names a unit that is starting and that a start of the given one would wait
// for, or "". Called from within that unit, such a start never ends.
func (n *Node) waitsFor(unit string) string {
	for _, other := range sorted(n.running) {
		s := n.running[other].state
		if other != unit && s.Active == "activating" && s.Sub == "start" && n.ordered(other, unit) {
			return other
		}
	}
	return ""
}

// Settle runs the node until nothing is left to happen: launched
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
