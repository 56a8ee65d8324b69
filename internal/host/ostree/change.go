package ostree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Clone implements host.Deployments. The new boot entry takes the kernel arguments of the booted one, and not those of
// /proc/cmdline: they have what held for a single boot too, typed in the boot loader's menu or added by it (Ignition's
// first boot).
func (d *Deployments) Clone(ctx context.Context, stateroot string, kernel ...string) (host.Deployment, error) {
	if err := validName(stateroot); err != nil {
		return host.Deployment{}, fmt.Errorf("clone into stateroot %s: %w", stateroot, err)
	}
	all, err := d.List(ctx)
	if err != nil {
		return host.Deployment{}, fmt.Errorf("clone into stateroot %s: %w", stateroot, err)
	}
	if found, ok := host.FirstOf(all, stateroot); ok {
		return found, nil
	}
	booted, err := host.Booted(all)
	if err != nil {
		return host.Deployment{}, fmt.Errorf("clone into stateroot %s: %w", stateroot, err)
	}
	if err := d.refuseStaged(); err != nil {
		return host.Deployment{}, fmt.Errorf("clone into stateroot %s: %w", stateroot, err)
	}
	if err := d.initStateroot(ctx, stateroot); err != nil {
		return host.Deployment{}, fmt.Errorf("make stateroot %s: %w", stateroot, err)
	}
	if err := d.deployClone(ctx, booted, stateroot, kernel); err != nil {
		return host.Deployment{}, fmt.Errorf("clone %s into stateroot %s: %w", booted.ID(), stateroot, err)
	}
	return d.findClone(ctx, stateroot)
}

// initStateroot makes the stateroot's directories. One without /var is what an interrupted
// os-init leaves; it holds nothing yet.
func (d *Deployments) initStateroot(ctx context.Context, stateroot string) error {
	_, err := d.files.Stat(host.InVar(stateroot, "/var"))
	if err == nil {
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("find its /var: %w", err)
	}
	if err := d.removeDir(stateroot); err != nil {
		return fmt.Errorf("remove an incomplete one: %w", err)
	}
	_, err = d.runAdmin(ctx, quick, "os-init", stateroot)
	return err
}

// deployClone writes the deployment. --retain and --no-prune keep every other deployment and
// object; the origin file makes the clone follow the same updates as the original.
func (d *Deployments) deployClone(ctx context.Context, booted host.Deployment, stateroot string, kernel []string) error {
	args := []string{"deploy", "--os=" + stateroot, "--retain", "--no-prune", "--not-as-default", "--karg-none"}
	if len(kernel) == 0 {
		var err error
		if kernel, err = d.KernelArguments(ctx); err != nil {
			return fmt.Errorf("read the kernel arguments: %w", err)
		}
	}
	for _, argument := range kernel {
		args = append(args, "--karg-append="+argument)
	}
	if _, err := d.files.Stat(booted.Origin()); err == nil {
		args = append(args, "--origin-file="+booted.Origin())
	}
	_, err := d.runAdmin(ctx, slow, append(args, booted.Checksum)...)
	return err
}

func (d *Deployments) findClone(ctx context.Context, stateroot string) (host.Deployment, error) {
	all, err := d.List(ctx)
	if err != nil {
		return host.Deployment{}, fmt.Errorf("find the clone in stateroot %s: %w", stateroot, err)
	}
	found, ok := host.FirstOf(all, stateroot)
	if !ok {
		return host.Deployment{}, fmt.Errorf("ostree deployed stateroot %s, but the boot loader has no entry for it", stateroot)
	}
	if found.Default {
		return host.Deployment{}, fmt.Errorf("ostree made the clone in stateroot %s the default", stateroot)
	}
	return found, nil
}

// SetDefault implements host.Deployments.
func (d *Deployments) SetDefault(ctx context.Context, stateroot string) error {
	all, err := d.List(ctx)
	if err != nil {
		return fmt.Errorf("make stateroot %s the default: %w", stateroot, err)
	}
	want, ok := host.FirstOf(all, stateroot)
	if !ok {
		return fmt.Errorf("make stateroot %s the default: it has no deployment", stateroot)
	}
	return d.Choose(ctx, want)
}

// Choose implements host.Deployments. ostree swaps one link after it has flushed what the link leads to.
func (d *Deployments) Choose(ctx context.Context, want host.Deployment) error {
	fail := func(err error) error {
		return fmt.Errorf("make deployment %s of stateroot %s the default: %w", want.ID(), want.Stateroot, err)
	}
	all, err := d.List(ctx)
	if err != nil {
		return fail(err)
	}
	found, ok := host.Find(all, want)
	if !ok {
		return fail(errors.New("it is not deployed"))
	}
	if found.Default {
		unix.Sync() // a run that was cut off may not have got so far
		return nil
	}
	if err := d.refuseStaged(); err != nil {
		return fail(err)
	}
	if err := d.byIndex(ctx, found, "set-default"); err != nil {
		return fail(err)
	}
	unix.Sync()
	if all, err = d.List(ctx); err != nil {
		return fail(err)
	}
	if found, ok := host.Find(all, want); !ok || !found.Default {
		return fmt.Errorf("ostree set the default, yet %s of %s boots next and not %s of %s",
			all[0].ID(), all[0].Stateroot, want.ID(), want.Stateroot)
	}
	return nil
}

// DeployCommit implements host.Commits.
func (d *Deployments) DeployCommit(ctx context.Context, stateroot, checksum string, kernel []string) (host.Deployment, error) {
	fail := func(err error) (host.Deployment, error) {
		return host.Deployment{}, fmt.Errorf("deploy commit %s into stateroot %s: %w", checksum, stateroot, err)
	}
	if err := validName(stateroot); err != nil {
		return fail(err)
	}
	all, err := d.List(ctx)
	if err != nil {
		return fail(err)
	}
	if found, ok := host.FirstOf(all, stateroot); ok {
		if found.Checksum != checksum {
			return fail(fmt.Errorf("it has commit %s already", found.Checksum))
		}
		return found, nil
	}
	if err := d.refuseStaged(); err != nil {
		return fail(err)
	}
	if err := d.initStateroot(ctx, stateroot); err != nil {
		return fail(err)
	}
	args := []string{"deploy", "--os=" + stateroot, "--retain", "--no-prune", "--not-as-default", "--karg-none"}
	for _, argument := range kernel {
		args = append(args, "--karg-append="+argument)
	}
	if _, err := d.runAdmin(ctx, slow, append(args, checksum)...); err != nil {
		return fail(err)
	}
	return d.findClone(ctx, stateroot)
}
