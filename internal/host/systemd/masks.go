package systemd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	// controlDir is systemd's runtime directory of the highest precedence (systemd.unit(5)). The
	// one that `systemctl mask --runtime` uses comes after /etc/systemd/system, and a mask in
	// it has no effect on units that live there, as kubelet.service does.
	controlDir = "/run/systemd/system.control"
	runtimeDir = "/run/systemd/system"
	nowhere    = "/dev/null"
)

// Mask implements host.RuntimeMasks. A running unit keeps running; it just does not
// start again.
func (m *Manager) Mask(ctx context.Context, unit string) error {
	link := filepath.Join(m.root, controlDir, unit)
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		return fmt.Errorf("mask %s: %w", unit, err)
	}
	err := os.Symlink(nowhere, link)
	if errors.Is(err, fs.ErrExist) && isMaskLink(link) {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("mask %s: %w", unit, err)
	}
	return m.Reload(ctx)
}

// Unmask implements host.RuntimeMasks. A mask that `systemctl mask --runtime` made goes too.
func (m *Manager) Unmask(ctx context.Context, unit string) error {
	for _, dir := range []string{controlDir, runtimeDir} {
		link := filepath.Join(m.root, dir, unit)
		if !isMaskLink(link) {
			continue
		}
		if err := os.Remove(link); err != nil {
			return fmt.Errorf("unmask %s: %w", unit, err)
		}
	}
	return m.Reload(ctx)
}

func isMaskLink(link string) bool {
	target, err := os.Readlink(link)
	return err == nil && target == nowhere
}
