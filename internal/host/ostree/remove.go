package ostree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// bootKernels is where ostree keeps the kernels that boot loader entries name.
const bootKernels = "/boot/ostree"

var kernelChecksum = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Remove implements host.Deployments. What an interrupted Clone or Remove left goes too.
func (d *Deployments) Remove(ctx context.Context, stateroot string) error {
	if err := validName(stateroot); err != nil {
		return fmt.Errorf("remove stateroot %s: %w", stateroot, err)
	}
	all, err := d.List(ctx)
	if err != nil {
		return fmt.Errorf("remove stateroot %s: %w", stateroot, err)
	}
	for _, dep := range all {
		if dep.Stateroot == stateroot && (dep.Booted || dep.Default) {
			return fmt.Errorf("remove stateroot %s: its deployment %s is booted or the default", stateroot, dep.ID())
		}
	}
	if _, err := d.files.Stat(host.StaterootDir(stateroot)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := d.undeployAll(ctx, stateroot); err != nil {
		return fmt.Errorf("remove stateroot %s: %w", stateroot, err)
	}
	// Deployments that an interrupted deploy left without a boot entry, their kernels in
	// /boot included.
	if _, err := d.runAdmin(ctx, slow, "cleanup"); err != nil {
		return fmt.Errorf("remove stateroot %s: %w", stateroot, err)
	}
	if err := d.removeKernels(stateroot); err != nil {
		return fmt.Errorf("remove stateroot %s: %w", stateroot, err)
	}
	if err := d.removeDir(stateroot); err != nil {
		return fmt.Errorf("remove stateroot %s: %w", stateroot, err)
	}
	return nil
}

// removeKernels deletes the stateroot's folders in /boot/ostree, named STATEROOT-CHECKSUM. `ostree admin cleanup`
// looks at the checksum alone and keeps them while any deployment has the same kernel, as the one that was
// cloned always has: a few changes would fill /boot.
func (d *Deployments) removeKernels(stateroot string) error {
	names, err := d.files.List(bootKernels)
	if err != nil {
		return fmt.Errorf("list its kernels: %w", err)
	}
	for _, name := range names {
		if sum, ok := strings.CutPrefix(name, stateroot+"-"); ok && kernelChecksum.MatchString(sum) {
			if err := d.files.Remove(path.Join(bootKernels, name)); err != nil {
				return fmt.Errorf("remove its kernel: %w", err)
			}
		}
	}
	return nil
}

// undeployAll takes the stateroot's deployments off the menu, the last first, since each
// removal moves up those behind it.
func (d *Deployments) undeployAll(ctx context.Context, stateroot string) error {
	for {
		all, err := d.List(ctx)
		if err != nil {
			return fmt.Errorf("list deployments: %w", err)
		}
		last, ok := lastOf(all, stateroot)
		if !ok {
			return nil
		}
		if err := d.byIndex(ctx, last, "undeploy"); err != nil {
			return fmt.Errorf("undeploy %s: %w", last.ID(), err)
		}
		after, err := d.List(ctx)
		if err != nil {
			return fmt.Errorf("verify that %s is undeployed: %w", last.ID(), err)
		}
		if len(after) >= len(all) {
			return fmt.Errorf("ostree undeployed %s, but its boot entry is still there", last.ID())
		}
	}
}

func lastOf(all []host.Deployment, stateroot string) (last host.Deployment, ok bool) {
	for _, dep := range all {
		if dep.Stateroot == stateroot {
			last, ok = dep, true
		}
	}
	return last, ok
}

// removeDir deletes the stateroot's directory. ostree marks each deployment immutable, and administrators mark what they like.
func (d *Deployments) removeDir(stateroot string) error {
	err := d.files.RemoveForced(host.StaterootDir(stateroot))
	switch {
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("%w: %w: unmount what is mounted there ('findmnt -l | grep %s')", host.ErrHeld, err,
			host.StaterootDir(stateroot))
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w: %w: find out what protects it ('swapon --show', 'lsattr -d')", host.ErrHeld, err)
	}
	return err
}
