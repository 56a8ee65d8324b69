package grub

import (
	"fmt"
	"path"
	"strings"
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
	kind, device := deviceOf(string(info), dir)
	if !writable[kind] {
		return fmt.Errorf("%s is on a file system of type %q, which GRUB cannot write to", dir, kind)
	}
	block := path.Join("/sys/dev/block", device)
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

// deviceOf is the file system that a path is on, and its device's number (proc_pid_mountinfo(5)). The last mount of a mount point
// hides those before.
func deviceOf(mountinfo, file string) (kind, device string) {
	longest := 0
	for line := range strings.Lines(mountinfo) {
		before, after, found := strings.Cut(line, " - ")
		fields, of := strings.Fields(before), strings.Fields(after)
		if !found || len(fields) < 5 || len(of) < 1 {
			continue
		}
		point := fields[4]
		if point != "/" && file != point && !strings.HasPrefix(file, point+"/") {
			continue
		}
		if len(point) >= longest && of[0] != "autofs" {
			longest, kind, device = len(point), of[0], fields[2]
		}
	}
	return kind, device
}
