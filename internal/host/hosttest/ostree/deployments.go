package ostree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/machine"
)

// Deployments is the node's host.Deployments.
func (n *Sysroot) Deployments() host.Deployments { return deployments{n} }

type deployments struct{ n *Sysroot }

func (d deployments) List(context.Context) ([]host.Deployment, error) {
	d.n.Enter()
	defer d.n.Unlock()
	return d.n.list(), nil
}

func (n *Sysroot) list() []host.Deployment {
	all := make([]host.Deployment, 0, len(n.menu))
	for i, m := range n.menu {
		m.Index, m.Default, m.Booted = i, i == 0, m == n.Booted
		all = append(all, m)
	}
	return all
}

func (d deployments) CanSetDefault(context.Context) error {
	d.n.Enter()
	defer d.n.Unlock()
	return d.n.cannotSetDefault
}

func (d deployments) KernelArguments(context.Context) ([]string, error) {
	d.n.Enter()
	defer d.n.Unlock()
	return slices.Clone(d.n.kernelArguments), nil
}

// BootWith puts kernel arguments into the boot loader's entries.
func (n *Sysroot) BootWith(arguments ...string) {
	n.Lock()
	defer n.Unlock()
	n.kernelArguments = arguments
}

// SetDefaultUnsupported makes CanSetDefault and SetDefault fail as on an ostree without it.
func (n *Sysroot) SetDefaultUnsupported(why error) {
	n.Lock()
	defer n.Unlock()
	n.cannotSetDefault = why
}

// FirstOf is the place of the stateroot's first entry in the boot menu.
func (n *Sysroot) FirstOf(stateroot string) (int, bool) {
	for i, m := range n.menu {
		if m.Stateroot == stateroot {
			return i, true
		}
	}
	return 0, false
}

// Clone is os-init, checkout, and a new boot menu: a power cut can come between any two.
func (d deployments) Clone(ctx context.Context, stateroot string, kernel ...string) (host.Deployment, error) {
	n := d.n
	n.Enter()
	defer n.Unlock()
	if err := named(stateroot); err != nil {
		return host.Deployment{}, fmt.Errorf("clone booted deployment: %w", err)
	}
	if _, there := n.FirstOf(stateroot); !there {
		if len(kernel) == 0 {
			kernel = n.kernelArguments
		}
		n.arguments[stateroot] = slices.Clone(kernel)
	}
	return n.deploy(stateroot, n.Booted.Checksum)
}

// deploy checks the commit out into the stateroot, unless that has a deployment.
func (n *Sysroot) deploy(stateroot, checksum string) (host.Deployment, error) {
	if i, ok := n.FirstOf(stateroot); ok {
		return n.list()[i], nil
	}
	if _, ok := n.Disk.Live[host.InVar(stateroot, "/var")]; !ok {
		if err := n.Change("deployments.clone.os-init", stateroot); err != nil {
			return host.Deployment{}, err
		}
		if err := n.osInit(stateroot); err != nil {
			return host.Deployment{}, err
		}
	}
	clone := host.Deployment{Stateroot: stateroot, Checksum: checksum}
	if err := n.Change("deployments.clone.checkout", stateroot); err != nil {
		return host.Deployment{}, err
	}
	if err := n.checkout(clone); err != nil {
		return host.Deployment{}, err
	}
	if err := n.Change("deployments.clone.menu", stateroot); err != nil {
		return host.Deployment{}, err
	}
	n.menu = append(n.menu, clone)
	return n.list()[len(n.menu)-1], nil
}

// osInit makes a stateroot with the empty /var that ostree gives it.
func (n *Sysroot) osInit(stateroot string) error {
	for _, dir := range []string{"/var/log", "/var/lib", "/var/tmp"} {
		if err := n.Disk.Mkdirs(host.InVar(stateroot, dir), true); err != nil {
			return err
		}
	}
	return nil
}

// checkout writes a deployment as its commit has it: /usr, and /etc from /usr/etc.
func (n *Sysroot) checkout(d host.Deployment) error {
	for _, p := range n.Disk.Under(d.Dir()) { // an earlier checkout that was cut short
		n.Disk.Remove(p, true)
	}
	for _, p := range slices.Sorted(maps.Keys(n.commit)) {
		in := n.commit[p]
		if err := n.Disk.Put(d.InDeployment(p), in, true); err != nil {
			return err
		}
		if etc, ok := strings.CutPrefix(p, "/usr/etc/"); ok {
			if err := n.Disk.Put(d.InDeployment(path.Join("/etc", etc)), in, true); err != nil {
				return err
			}
		}
	}
	origin := machine.Inode{Mode: 0o644, Data: []byte("[origin]\nrefspec=" + d.Checksum + "\n")}
	return n.Disk.Put(d.Origin(), origin, true)
}

func (d deployments) SetDefault(_ context.Context, stateroot string) error {
	n := d.n
	n.Enter()
	defer n.Unlock()
	at, ok := n.FirstOf(stateroot)
	if !ok && n.cannotSetDefault == nil {
		return fmt.Errorf("make stateroot %s boot next: it has no deployment", stateroot)
	}
	return n.setDefault(stateroot, at)
}

func (d deployments) Choose(_ context.Context, want host.Deployment) error {
	n := d.n
	n.Enter()
	defer n.Unlock()
	found, ok := host.Find(n.list(), want)
	if !ok && n.cannotSetDefault == nil {
		return fmt.Errorf("make deployment %s of stateroot %s boot next: it is not deployed", want.ID(), want.Stateroot)
	}
	return n.setDefault(want.Stateroot, found.Index)
}

func (n *Sysroot) setDefault(stateroot string, at int) error {
	if n.cannotSetDefault != nil {
		return fmt.Errorf("make stateroot %s boot next: %w", stateroot, n.cannotSetDefault)
	}
	if at == 0 {
		return nil
	}
	if err := n.Change("deployments.set-default", stateroot); err != nil {
		return err
	}
	if n.Disk.Free < menuRoom {
		return fmt.Errorf("make stateroot %s boot next: write the boot menu: %w", stateroot, syscall.ENOSPC)
	}
	menu := []host.Deployment{n.menu[at]}
	menu = append(menu, n.menu[:at]...)
	n.menu = append(menu, n.menu[at+1:]...)
	return nil
}

// Pending puts another deployment of a stateroot before its first one in the boot menu, as an update of the operating system does that
// nobody has booted yet.
func (n *Sysroot) Pending(stateroot, checksum string) (host.Deployment, error) {
	n.Enter()
	defer n.Unlock()
	at, ok := n.FirstOf(stateroot)
	if !ok {
		return host.Deployment{}, fmt.Errorf("stateroot %s has no deployment", stateroot)
	}
	update := host.Deployment{Stateroot: stateroot, Checksum: checksum}
	if checksum == n.menu[at].Checksum {
		update.Serial = n.menu[at].Serial + 1
	}
	if err := n.checkout(update); err != nil {
		return host.Deployment{}, err
	}
	n.menu = slices.Insert(n.menu, at, update)
	return n.list()[at], nil
}

// menuRoom is what a new boot menu takes on the disk while it is written.
const menuRoom = 4 << 10

// Remove is a new boot menu, and then two deletions. On a full disk there is no room for the menu.
func (d deployments) Remove(_ context.Context, stateroot string) error {
	n := d.n
	n.Enter()
	defer n.Unlock()
	if err := named(stateroot); err != nil {
		return fmt.Errorf("remove stateroot: %w", err)
	}
	if stateroot == n.Booted.Stateroot {
		return fmt.Errorf("remove stateroot %s: %w", stateroot, errBooted)
	}
	if len(n.menu) > 0 && n.menu[0].Stateroot == stateroot {
		return fmt.Errorf("remove stateroot %s: %w", stateroot, errDefault)
	}
	for {
		at, ok := n.FirstOf(stateroot)
		if !ok {
			break
		}
		if err := n.Change("deployments.remove.menu", stateroot); err != nil {
			return err
		}
		if n.Disk.Free < menuRoom {
			return fmt.Errorf("write the boot menu without stateroot %s: %w", stateroot, syscall.ENOSPC)
		}
		n.menu = append(append([]host.Deployment(nil), n.menu[:at]...), n.menu[at+1:]...)
	}
	for _, part := range []string{"deploy", "var", ""} {
		tree := n.Disk.Under(path.Join(host.StaterootDir(stateroot), part))
		if len(tree) == 0 {
			continue
		}
		if err := n.Change("deployments.remove.delete", path.Join(stateroot, part)); err != nil {
			return err
		}
		for _, p := range tree {
			n.Disk.Remove(p, true)
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
	d.n.Enter()
	defer d.n.Unlock()
	var names []string
	for _, name := range d.n.Disk.Children(host.DeployDir) {
		if d.n.Disk.Live[host.StaterootDir(name)].IsDir() {
			names = append(names, name)
		}
	}
	return names, nil
}

// Bootable says why the node cannot boot a deployment from what is on its disk, or nil.
func (n *Sysroot) Bootable(d host.Deployment) error {
	for _, must := range []string{"/usr/lib/systemd/systemd", "/etc"} {
		if _, ok := n.Disk.Live[d.InDeployment(must)]; !ok {
			return fmt.Errorf("deployment %s of stateroot %s does not boot: %w",
				d.ID(), d.Stateroot, &fs.PathError{Op: "open", Path: must, Err: fs.ErrNotExist})
		}
	}
	return nil
}
