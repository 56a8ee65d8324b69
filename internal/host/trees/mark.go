package trees

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// markAttr on To says that a pass is under way, and in which boot. Within one boot
// the page cache keeps what was written, so a killed pass can be taken up by size and
// time; after a power cut sizes and times may have reached the disk before contents.
const markAttr = "user.lca.mirror"

const bootIDFile = "/proc/sys/kernel/random/boot_id"

// begin sets the mark and finds out whether the last pass was cut off by the power. A
// file system without such attributes (an old tmpfs) does not outlive the power either.
func (m *mirror) begin() error {
	id, err := os.ReadFile(bootIDFile)
	if err != nil {
		return fmt.Errorf("read the boot id: %w", err)
	}
	boot := strings.TrimSpace(string(id))
	buf := make([]byte, 256)
	n, err := unix.Fgetxattr(m.dst, markAttr, buf)
	if err == nil && string(buf[:n]) != boot {
		m.distrust = true
		m.log.Warn("an earlier copy was cut off by a power cut; copying all of it again", "to", m.r.To)
	}
	if err == nil && string(buf[:n]) == boot {
		return nil
	}
	if m.distrust {
		boot = string(buf[:n]) // a second power cut must find the tree as distrusted as this one
	}
	if err := unix.Fsetxattr(m.dst, markAttr, []byte(boot), 0); err != nil {
		if errors.Is(err, unix.EOPNOTSUPP) {
			return nil
		}
		return fmt.Errorf("mark the target: %w", err)
	}
	return unix.Fsync(m.dst)
}

// finish flushes the target and takes the mark off.
func (m *mirror) finish() error {
	if err := unix.Syncfs(m.dst); err != nil {
		return fmt.Errorf("flush the target: %w", err)
	}
	err := unix.Fremovexattr(m.dst, markAttr)
	if err != nil && !errors.Is(err, unix.ENODATA) && !errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("unmark the target: %w", err)
	}
	return unix.Fsync(m.dst)
}
