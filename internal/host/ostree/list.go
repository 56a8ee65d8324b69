package ostree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// List implements host.Deployments. It runs no program.
func (d *Deployments) List(context.Context) ([]host.Deployment, error) {
	menu, err := d.readEntries()
	if err != nil {
		return nil, err
	}
	var all []host.Deployment
	for i, e := range menu {
		dep, err := d.resolveBootLink(e.target)
		if err != nil {
			return nil, fmt.Errorf("boot loader entry %s: %w", e.file, err)
		}
		dep.Index, dep.Default = i, i == 0
		all = append(all, dep)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no ostree entries in %s: is this an ostree system, and is /boot mounted?", host.BootEntries)
	}
	booted, err := d.bootedIndex(all, menu)
	if err != nil {
		return nil, err
	}
	all[booted].Booted = true
	return all, nil
}

// Entry is the name of a deployment's entry in the boot loader's menu: that of its file, without ".conf".
func (d *Deployments) Entry(ctx context.Context, want host.Deployment) (string, error) {
	all, err := d.List(ctx)
	if err != nil {
		return "", err
	}
	menu, err := d.readEntries()
	if err != nil {
		return "", err
	}
	found, ok := host.Find(all, want)
	if !ok || found.Index >= len(menu) {
		return "", fmt.Errorf("the boot loader has no entry for deployment %s of stateroot %s", want.ID(), want.Stateroot)
	}
	return strings.TrimSuffix(menu[found.Index].file, ".conf"), nil
}

// KernelArguments implements host.Deployments.
func (d *Deployments) KernelArguments(ctx context.Context) ([]string, error) {
	all, err := d.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the booted kernel arguments: %w", err)
	}
	menu, err := d.readEntries()
	if err != nil {
		return nil, fmt.Errorf("read the booted kernel arguments: %w", err)
	}
	booted, err := host.Booted(all)
	if err != nil {
		return nil, fmt.Errorf("read the booted kernel arguments: %w", err)
	}
	if booted.Index >= len(menu) {
		return nil, errors.New("read the booted kernel arguments: the boot loader's menu has changed meanwhile")
	}
	return slices.DeleteFunc(menu[booted.Index].options, func(word string) bool { return strings.HasPrefix(word, "ostree=") }), nil
}

// bootedIndex finds what runs. The kernel argument ostree= alone does not tell for long:
// each change of the menu renames the link it holds. So, as ostree does, the running
// directories are compared with the deployments' first; the argument comes after that.
func (d *Deployments) bootedIndex(all []host.Deployment, menu []entry) (int, error) {
	for _, running := range []string{"/", "/etc"} { // under composefs / is an overlay, /etc is not
		if i, ok := d.sameFolder(all, running); ok {
			return i, nil
		}
	}
	cmdline, err := d.files.Read(host.KernelCmdline)
	if err != nil {
		return 0, fmt.Errorf("find the booted deployment: %w", err)
	}
	word := ostreeWord(string(cmdline))
	if word == "" {
		return 0, errors.New("the kernel was not booted with ostree=: this is not a running ostree system")
	}
	if i, ok, err := d.linkTarget(all, word); ok || err != nil {
		return i, err
	}
	return sameKernel(menu, word)
}

func (d *Deployments) sameFolder(all []host.Deployment, running string) (int, bool) {
	here, ok := d.inodeOf(running)
	if !ok {
		return 0, false
	}
	for i, dep := range all {
		if there, ok := d.inodeOf(dep.InDeployment(running)); ok && there == here {
			return i, true
		}
	}
	return 0, false
}

type inode struct{ dev, ino uint64 }

func (d *Deployments) inodeOf(path string) (inode, bool) {
	st, err := d.files.StatTarget(path)
	if err != nil {
		return inode{}, false
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return inode{}, false
	}
	return inode{sys.Dev, sys.Ino}, true
}

// linkTarget follows the link in the kernel's arguments while it exists.
func (d *Deployments) linkTarget(all []host.Deployment, word string) (int, bool, error) {
	dep, err := d.resolveBootLink(word)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	for i := range all {
		if all[i].Stateroot == dep.Stateroot && all[i].ID() == dep.ID() {
			return i, true, nil
		}
	}
	return 0, false, nil
}

// sameKernel finds the only entry of the same stateroot, kernel and initramfs.
func sameKernel(menu []entry, word string) (int, error) {
	want, err := parseBootLink(word)
	if err != nil {
		return 0, err
	}
	found := -1
	for i, e := range menu {
		link, err := parseBootLink(e.target)
		if err != nil || link != want {
			continue
		}
		if found >= 0 {
			return 0, fmt.Errorf("two deployments fit the booted ostree=%s", word)
		}
		found = i
	}
	if found < 0 {
		return 0, fmt.Errorf("no deployment fits the booted ostree=%s", word)
	}
	return found, nil
}
