package hosttest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// deployment is one entry of the boot menu. The menu as a whole changes in one
// step, as ostree's does, and is durable at once.
type deployment struct {
	stateroot, checksum string
	serial              int
}

func (d deployment) port() host.Deployment {
	return host.Deployment{Stateroot: d.stateroot, Checksum: d.checksum, Serial: d.serial}
}

// dir is the physical directory of the deployment.
func (d deployment) dir() string { return d.port().Dir() }

func (d deployment) inDeployment(p string) string { return d.port().InDeployment(p) }

// Deployments is the node's host.Deployments.
func (n *Node) Deployments() host.Deployments { return deployments{n} }

type deployments struct{ n *Node }

func (d deployments) List(context.Context) ([]host.Deployment, error) {
	d.n.lock()
	defer d.n.mu.Unlock()
	return d.n.list(), nil
}

func (n *Node) list() []host.Deployment {
	all := make([]host.Deployment, 0, len(n.menu))
	for i, m := range n.menu {
		p := m.port()
		p.Index, p.Default, p.Booted = i, i == 0, m == n.booted
		all = append(all, p)
	}
	return all
}

func (d deployments) CanSetDefault(context.Context) error {
	d.n.lock()
	defer d.n.mu.Unlock()
	return d.n.cannotSetDefault
}

func (d deployments) KernelArguments(context.Context) ([]string, error) {
	d.n.lock()
	defer d.n.mu.Unlock()
	return slices.Clone(d.n.kernelArguments), nil
}

// BootWith puts kernel arguments into the boot loader's entries.
func (n *Node) BootWith(arguments ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.kernelArguments = arguments
}

// SetDefaultUnsupported makes CanSetDefault and SetDefault fail as on an ostree without it.
func (n *Node) SetDefaultUnsupported(why error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cannotSetDefault = why
}

func (n *Node) firstOf(stateroot string) (int, bool) {
	for i, m := range n.menu {
		if m.stateroot == stateroot {
			return i, true
		}
	}
	return 0, false
}

// Clone is os-init, checkout, and a new boot menu: a power cut can come between any two.
func (d deployments) Clone(ctx context.Context, stateroot string) (host.Deployment, error) {
	n := d.n
	n.lock()
	defer n.mu.Unlock()
	if err := named(stateroot); err != nil {
		return host.Deployment{}, fmt.Errorf("clone booted deployment: %w", err)
	}
	return n.deploy(stateroot, n.booted.checksum)
}

// deploy checks the commit out into the stateroot, unless that has a deployment.
func (n *Node) deploy(stateroot, checksum string) (host.Deployment, error) {
	if i, ok := n.firstOf(stateroot); ok {
		return n.list()[i], nil
	}
	if _, ok := n.disk.live[host.InVar(stateroot, "/var")]; !ok {
		if err := n.op("deployments.clone.os-init", stateroot); err != nil {
			return host.Deployment{}, err
		}
		if err := n.osInit(stateroot); err != nil {
			return host.Deployment{}, err
		}
	}
	clone := deployment{stateroot: stateroot, checksum: checksum}
	if err := n.op("deployments.clone.checkout", stateroot); err != nil {
		return host.Deployment{}, err
	}
	if err := n.checkout(clone); err != nil {
		return host.Deployment{}, err
	}
	if err := n.op("deployments.clone.menu", stateroot); err != nil {
		return host.Deployment{}, err
	}
	n.menu = append(n.menu, clone)
	return n.list()[len(n.menu)-1], nil
}

// osInit makes a stateroot with the empty /var that ostree gives it.
func (n *Node) osInit(stateroot string) error {
	for _, dir := range []string{"/var/log", "/var/lib", "/var/tmp"} {
		if err := n.disk.mkdirs(host.InVar(stateroot, dir), true); err != nil {
			return err
		}
	}
	return nil
}

// checkout writes a deployment as its commit has it: /usr, and /etc from /usr/etc.
func (n *Node) checkout(d deployment) error {
	for _, p := range n.disk.under(d.dir()) { // an earlier checkout that was cut short
		n.disk.remove(p, true)
	}
	for _, p := range sorted(n.commit) {
		in := n.commit[p]
		if err := n.disk.put(d.inDeployment(p), in, true); err != nil {
			return err
		}
		if etc, ok := strings.CutPrefix(p, "/usr/etc/"); ok {
			if err := n.disk.put(d.inDeployment(path.Join("/etc", etc)), in, true); err != nil {
				return err
			}
		}
	}
	origin := inode{mode: 0o644, data: []byte("[origin]\nrefspec=" + d.checksum + "\n")}
	return n.disk.put(d.port().Origin(), origin, true)
}

func (d deployments) SetDefault(_ context.Context, stateroot string) error {
	n := d.n
	n.lock()
	defer n.mu.Unlock()
	if n.cannotSetDefault != nil {
		return fmt.Errorf("make stateroot %s boot next: %w", stateroot, n.cannotSetDefault)
	}
	at, ok := n.firstOf(stateroot)
	if !ok {
		return fmt.Errorf("make stateroot %s boot next: it has no deployment", stateroot)
	}
	if at == 0 {
		return nil
	}
	if err := n.op("deployments.set-default", stateroot); err != nil {
		return err
	}
	if n.disk.free < menuRoom {
		return fmt.Errorf("make stateroot %s boot next: write the boot menu: %w", stateroot, syscall.ENOSPC)
	}
	menu := []deployment{n.menu[at]}
	menu = append(menu, n.menu[:at]...)
	n.menu = append(menu, n.menu[at+1:]...)
	return nil
}

// menuRoom is what a new boot menu takes on the disk while it is written.
const menuRoom = 4 << 10

// Remove is a new boot menu, and then two deletions. On a full disk there is no room for the menu.
func (d deployments) Remove(_ context.Context, stateroot string) error {
	n := d.n
	n.lock()
	defer n.mu.Unlock()
	if err := named(stateroot); err != nil {
		return fmt.Errorf("remove stateroot: %w", err)
	}
	if stateroot == n.booted.stateroot {
		return fmt.Errorf("remove stateroot %s: %w", stateroot, errBooted)
	}
	if len(n.menu) > 0 && n.menu[0].stateroot == stateroot {
		return fmt.Errorf("remove stateroot %s: %w", stateroot, errDefault)
	}
	for {
		at, ok := n.firstOf(stateroot)
		if !ok {
			break
		}
		if err := n.op("deployments.remove.menu", stateroot); err != nil {
			return err
		}
		if n.disk.free < menuRoom {
			return fmt.Errorf("write the boot menu without stateroot %s: %w", stateroot, syscall.ENOSPC)
		}
		n.menu = append(append([]deployment(nil), n.menu[:at]...), n.menu[at+1:]...)
	}
	for _, part := range []string{"deploy", "var", ""} {
		tree := n.disk.under(path.Join(host.StaterootDir(stateroot), part))
		if len(tree) == 0 {
			continue
		}
		if err := n.op("deployments.remove.delete", path.Join(stateroot, part)); err != nil {
			return err
		}
		for _, p := range tree {
			n.disk.remove(p, true)
		}
	}
	return nil
}

// named refuses what would lead out of the folder of stateroots.
func named(stateroot string) error {
	if stateroot == "" || stateroot == "." || stateroot == ".." || strings.ContainsAny(stateroot, "/ ") {
		return fmt.Errorf("%q is no name of a stateroot", stateroot)
	}
	return nil
}

var (
	errBooted  = errors.New("the node runs it")
	errDefault = errors.New("it is what boots next")
)

func (d deployments) Stateroots(context.Context) ([]string, error) {
	d.n.lock()
	defer d.n.mu.Unlock()
	var names []string
	for _, name := range d.n.disk.children(host.DeployDir) {
		if d.n.disk.live[host.StaterootDir(name)].isDir() {
			names = append(names, name)
		}
	}
	return names, nil
}

// bootable says why the node cannot boot a deployment from what is on its disk, or nil.
func (n *Node) bootable(d deployment) error {
	for _, must := range []string{"/usr/lib/systemd/systemd", "/etc"} {
		if _, ok := n.disk.live[d.inDeployment(must)]; !ok {
			return fmt.Errorf("deployment %s of stateroot %s does not boot: %w",
				d.port().ID(), d.stateroot, &fs.PathError{Op: "open", Path: must, Err: fs.ErrNotExist})
		}
	}
	return nil
}
