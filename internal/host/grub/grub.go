package grub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
)

// Menu is what ostree knows of its entries in the boot loader's menu.
type Menu interface {
	List(ctx context.Context) ([]host.Deployment, error)
	// Entry is the name of the deployment's entry: that of its file, without ".conf".
	Entry(ctx context.Context, d host.Deployment) (string, error)
}

// GRUB implements host.OneTimeBoot.
type GRUB struct {
	files *files.Files
	menu  Menu
}

// New returns the GRUB of the node with these files.
func New(f *files.Files, menu Menu) *GRUB { return &GRUB{files: f, menu: menu} }

// Usable implements host.OneTimeBoot.
func (g *GRUB) Usable(context.Context) error {
	c, err := g.findConfig()
	if err != nil {
		return err
	}
	return g.checkStorage(c.dir)
}

// Install implements host.OneTimeBoot. The hook comes last: without a block it does nothing.
func (g *GRUB) Install(ctx context.Context) error {
	if err := g.Usable(ctx); err != nil {
		return fmt.Errorf("install one-time boot: %w", err)
	}
	c, err := g.findConfig()
	if err != nil {
		return fmt.Errorf("install one-time boot: %w", err)
	}
	if err := g.createBlock(c); err != nil {
		return fmt.Errorf("make %s: %w", c.blockFile(), err)
	}
	text, err := g.readLocal(c)
	if err != nil || strings.Contains(text, hook) {
		return err
	}
	if err := g.files.Write(c.hookFile(), []byte(withoutHook(text)+hook), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", c.hookFile(), err)
	}
	return nil
}

// ChooseOnce implements host.OneTimeBoot.
func (g *GRUB) ChooseOnce(ctx context.Context, d host.Deployment) error {
	fail := func(err error) error {
		return fmt.Errorf("have deployment %s of stateroot %s start once: %w", d.ID(), d.Stateroot, err)
	}
	c, err := g.findConfig()
	if err != nil {
		return fail(err)
	}
	if text, err := g.readLocal(c); err != nil || !strings.Contains(text, hook) {
		return fail(errors.Join(err, fmt.Errorf("%s has no lines for it", c.hookFile())))
	}
	entry, err := g.menu.Entry(ctx, d)
	if err != nil {
		return fail(err)
	}
	if err := g.writeBlock(c, entry); err != nil {
		return fail(fmt.Errorf("write %s: %w", c.blockFile(), err))
	}
	return nil
}

// ChosenOnce implements host.OneTimeBoot.
func (g *GRUB) ChosenOnce(ctx context.Context) (host.Deployment, bool, error) {
	c, err := g.findConfig()
	if err != nil {
		return host.Deployment{}, false, nil //nolint:nilerr // a boot loader without a configuration for it starts nothing once
	}
	data, err := g.files.Read(c.blockFile())
	if errors.Is(err, fs.ErrNotExist) {
		return host.Deployment{}, false, nil
	}
	if err != nil {
		return host.Deployment{}, false, fmt.Errorf("read what GRUB starts once: %w", err)
	}
	entry := decodeBlock(data)
	all, err := g.menu.List(ctx)
	if err != nil {
		return host.Deployment{}, false, fmt.Errorf("find what GRUB starts once: %w", err)
	}
	for _, d := range all {
		if name, err := g.menu.Entry(ctx, d); err == nil && entry == name {
			return d, true, nil
		}
	}
	return host.Deployment{}, false, nil
}

// Uninstall implements host.OneTimeBoot.
func (g *GRUB) Uninstall(context.Context) error {
	c, err := g.findConfig()
	if err != nil {
		return nil //nolint:nilerr // nothing could be installed
	}
	switch err := g.writeBlock(c, ""); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("clear %s: %w", c.blockFile(), err)
	}
	if err := g.removeHook(c); err != nil {
		return err
	}
	if err := g.files.Remove(c.blockFile()); err != nil {
		return fmt.Errorf("remove %s: %w", c.blockFile(), err)
	}
	return nil
}
