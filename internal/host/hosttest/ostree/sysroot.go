// Package ostree is what a fake node has of ostree: stateroots, deployments and the boot menu, whose first entry boots next.
//
// It is called by hosttest, which joins the rooms. Tests only: it imports the ports and hosttest/machine, and must not
// import another room.
package ostree

import (
	"errors"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/machine"
)

// Sysroot is the node's ostree. The menu as a whole changes in one step, as ostree's does, and is durable at once.
type Sysroot struct {
	*machine.Machine
	menu   []host.Deployment        // boot menu, the first boots next
	commit map[string]machine.Inode // what every deployment is made of; /usr/etc becomes /etc
	// imported are the commits that came from elsewhere, arguments those of the kernel by stateroot.
	imported  []string
	arguments map[string][]string

	once             once
	cannotSetDefault error
	kernelArguments  []string
}

// New returns a sysroot on the machine that has no deployment; all of its commits have the given content.
func New(m *machine.Machine, commit map[string]machine.Inode) *Sysroot {
	return &Sysroot{Machine: m, commit: commit, arguments: map[string][]string{}}
}

// Install writes the first deployment, which the machine has as booted.
func (n *Sysroot) Install(d host.Deployment) error {
	n.Booted, n.menu = d, []host.Deployment{d}
	if err := n.osInit(d.Stateroot); err != nil {
		return err
	}
	return n.checkout(d)
}

// Menu is the boot menu.
func (n *Sysroot) Menu() []host.Deployment { return n.menu }

// StartNext takes the deployment that the node boots from here, as its boot loader does, or says why it boots none.
func (n *Sysroot) StartNext() (host.Deployment, error) {
	if d, found := n.once.takeChoice(n.list()); found {
		return d, n.Bootable(d)
	}
	if len(n.menu) == 0 {
		return host.Deployment{}, errors.New("the node has no deployment to boot")
	}
	return n.menu[0], n.Bootable(n.menu[0])
}
