package hosttest

import (
	"context"
	"errors"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/machine"
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
		for _, unit := range n.BootOrder() {
			_ = n.StartUnit(ctx, unit) // its failure is its own affair and in its state
		}
		return nil
	})
}

// powerOn is everything up to the start of systemd's units.
func (n *Node) powerOn() error {
	n.m.Lock()
	defer n.m.Unlock()
	if n.m.Powered() {
		n.stopContainers()
	}
	n.m.EndBoot()
	n.RestEtcd()
	n.Manager.Reset()
	n.containers = false
	next, err := n.StartNext()
	if err != nil {
		n.m.PowerOff()
		return err
	}
	n.m.PowerOn(next)
	n.Links.Reset()
	n.deaf = false
	if err := n.volatileFiles(); err != nil {
		return err
	}
	if err := n.forceDNS(); err != nil {
		return err
	}
	return n.NetworkUp()
}

// ContainerStorage is the partition that every node has for its containers.
const ContainerStorage = "/dev/disk/by-partlabel/varlibcontainers"

// volatileFiles are those the kernel and early boot make.
func (n *Node) volatileFiles() error {
	cmdline := fmt.Sprintf("root=UUID=fake rw ostree=/ostree/boot.1/%s/%s/%d\n",
		n.m.Booted.Stateroot, n.m.Booted.Checksum, n.m.Booted.Serial)
	for p, text := range map[string]string{
		host.BootIDFile: n.m.BootID() + "\n", host.KernelCmdline: cmdline, "/run/ostree-booted": "",
		"/proc/1/mountinfo": "36 25 8:5 / /var/lib/containers rw,relatime shared:1 - xfs " + ContainerStorage + " rw,prjquota\n",
	} {
		if err := n.m.Disk.Put(p, machine.Inode{Mode: 0o444, Data: []byte(text)}, true); err != nil {
			return err
		}
	}
	return nil
}

// Settle runs the node until nothing is left to happen: launched
// transients and restarts run, and a node that is down boots, at most
// maxBoots times. It returns ErrBootLoop when that does not suffice.
func (n *Node) Settle(ctx context.Context, maxBoots int) error {
	for boots := 0; ; {
		if n.Alive() {
			if unit, ok := n.Queued(); ok {
				_ = n.Run(ctx, func(ctx context.Context) error { // an end of the node is seen above
					n.RunQueued(ctx, unit)
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
