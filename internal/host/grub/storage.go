package grub

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// mounts is PID 1's view: lca-cli has mounts of its own, and the agent is in a container.
const mounts = "/proc/1/mountinfo"

// writable are the file systems on which GRUB can change a file.
var writable = map[string]bool{"ext2": true, "ext3": true, "ext4": true, "xfs": true, "vfat": true}

// checkStorage says why GRUB cannot write to the folder. It changes a file by writing to the file's blocks on the disk. Some file
// systems do not allow that, and of devices it can only write to those that firmware shows: no LVM, no software RAID, no LUKS.
func (g *GRUB) checkStorage(dir string) error {
	info, err := g.files.Read(mounts)
	if err != nil {
		return fmt.Errorf("find the device of %s: %w", dir, err)
	}
	// An automount lies below the file system that it mounts.
	all := slices.DeleteFunc(host.ParseMounts(string(info)), func(m host.Mount) bool { return m.Kind == "autofs" })
	on := host.MountOf(all, dir)
	if !writable[on.Kind] {
		return fmt.Errorf("%s is on a file system of type %q, which GRUB cannot write to", dir, on.Kind)
	}
	block := path.Join("/sys/dev/block", on.Device)
	if _, err := g.files.Stat(path.Join(block, "md")); err == nil {
		return fmt.Errorf("%s is on a software RAID, which GRUB cannot write to", dir)
	}
	id, err := g.files.Read(path.Join(block, "dm/uuid"))
	if name := string(id); err == nil && !strings.Contains(name, "mpath-") {
		layer, _, _ := strings.Cut(strings.TrimSpace(name), "-")
		return fmt.Errorf("%s is on a mapped device (%s), which GRUB cannot write to", dir, layer)
	}
	return nil
}
