package trees

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// markAttr on To says that a pass is under way, and in which boot. Within one boot the page cache keeps what was
// written, so a later pass may trust the sizes and times of a killed one; after a power cut sizes and times may be
// on the disk without the contents.
const markAttr = "user.lca.mirror"

const bootIDFile = "/proc/sys/kernel/random/boot_id"

// beginPass sets the mark and detects a pass that a power cut interrupted. A file system without such attributes (an
// old tmpfs) does not survive a power cut anyway.
func (m *mirror) beginPass() error {
	id, err := os.ReadFile(bootIDFile)
	if err != nil {
		return fmt.Errorf("read the boot id: %w", err)
	}
	boot := strings.TrimSpace(string(id))
	buf := make([]byte, 256)
	n, err := unix.Fgetxattr(m.dst, markAttr, buf)
	if err == nil && string(buf[:n]) != boot {
		m.distrust = true
		m.log.Warn("a power cut interrupted an earlier copy; copying all files again", "to", m.r.To)
	}
	if err == nil && string(buf[:n]) == boot {
		return nil
	}
	if m.distrust {
		boot = string(buf[:n]) // after a second power cut the tree must be distrusted as well
	}
	if err := unix.Fsetxattr(m.dst, markAttr, []byte(boot), 0); err != nil {
		if errors.Is(err, unix.EOPNOTSUPP) {
			return nil
		}
		return fmt.Errorf("mark the target: %w", err)
	}
	return unix.Fsync(m.dst)
}

// finishPass flushes the target and then removes the mark.
func (m *mirror) finishPass() error {
	if err := unix.Syncfs(m.dst); err != nil {
		return fmt.Errorf("flush the target: %w", err)
	}
	err := unix.Fremovexattr(m.dst, markAttr)
	if err != nil && !errors.Is(err, unix.ENODATA) && !errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("unmark the target: %w", err)
	}
	return unix.Fsync(m.dst)
}
