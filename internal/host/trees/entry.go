package trees

import (
	"errors"
	"fmt"
	"path"

	"golang.org/x/sys/unix"
)

// attempts bounds how often an entry that changes during the copy is copied again.
const attempts = 3

// errRaced says that a file was not what it had been a moment before.
var errRaced = errors.New("changed while it was copied")

// mirrorEntry mirrors one entry of a folder.
func (m *mirror) mirrorEntry(f *folder, name string) error {
	rel := path.Join(f.rel, name)
	if containsPath(m.skip, rel) {
		return nil
	}
	var err error
	for try := 1; try <= attempts; try++ {
		err = m.mirrorAttempt(f, name, rel, try)
		if !errors.Is(err, errRaced) {
			break
		}
	}
	if errors.Is(err, errRaced) {
		return m.removeVanished(f, name, rel)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", rel, err)
	}
	return nil
}

// removeVanished settles an entry that is gone from From, or never the same twice.
func (m *mirror) removeVanished(f *folder, name, rel string) error {
	return m.removeEntry(f.dst, name, rel)
}

// mirrorAttempt looks at both sides and brings them together. In the last try a file that changes
// during the copy is taken as it was read.
func (m *mirror) mirrorAttempt(f *folder, name, rel string, try int) error {
	want, err := statAt(f.src, name)
	if errors.Is(err, unix.ENOENT) {
		return m.removeVanished(f, name, rel)
	}
	if err != nil {
		return err
	}
	if want.inode() == m.toRoot {
		return errors.New("the target lies below the source")
	}
	have, err := m.findExisting(f, name, rel, want, try)
	if err != nil {
		return err
	}
	foreign := want.mount() != m.from
	switch {
	case want.kind() == unix.S_IFDIR:
		return m.mirrorFolder(f, name, want, have, foreign)
	case foreign:
		return nil // a single file mounted over another: not of this tree
	case want.kind() == unix.S_IFREG:
		err = m.mirrorRegular(f, name, rel, want, have, m.r.Live || try == attempts)
	case want.kind() == unix.S_IFLNK:
		err = m.mirrorSymlink(f, name, want, have)
	default:
		err = m.mirrorSpecial(f, name, want, have)
	}
	if err == nil {
		m.stats.files.Add(1)
	}
	return err
}

// findExisting is what To has there, if it can become what From has; else it is removed.
func (m *mirror) findExisting(f *folder, name, rel string, want meta, try int) (*meta, error) {
	if f.fresh && try == 1 {
		return nil, nil
	}
	have, err := statAt(f.dst, name)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if have.kind() == want.kind() {
		return &have, nil
	}
	return nil, m.removeEntry(f.dst, name, rel)
}

// mirrorFolder makes a folder and queues what is in it. A mount point on either side is made, but
// what is mounted there is neither read nor touched.
func (m *mirror) mirrorFolder(f *folder, name string, want meta, have *meta, foreign bool) error {
	if have != nil && have.mount() != m.to {
		return nil
	}
	if have == nil {
		if err := unix.Mkdirat(f.dst, name, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("make folder %s: %w", name, err)
		}
	}
	if foreign {
		return m.copyAttributes(at{f.src, name}, at{f.dst, name}, want, nil)
	}
	m.submitFolder(f, name, have == nil)
	return nil
}

func (m *mirror) mirrorSymlink(f *folder, name string, want meta, have *meta) error {
	target, err := readLinkAt(f.src, name)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINVAL) {
		return errRaced
	}
	if err != nil {
		return err
	}
	if have != nil {
		if now, err := readLinkAt(f.dst, name); err == nil && now == target {
			return m.copyAttributes(at{f.src, name}, at{f.dst, name}, want, have)
		}
		if err := unix.Unlinkat(f.dst, name, 0); err != nil {
			return fmt.Errorf("remove %s: %w", name, err)
		}
	}
	if err := unix.Symlinkat(target, f.dst, name); err != nil {
		return fmt.Errorf("make the symbolic link %s: %w", name, err)
	}
	m.stats.copied.Add(1)
	return m.copyAttributes(at{f.src, name}, at{f.dst, name}, want, nil)
}

// mirrorSpecial makes pipes, sockets and devices; their kind and number are all they hold.
func (m *mirror) mirrorSpecial(f *folder, name string, want meta, have *meta) error {
	if have != nil && have.rdev == want.rdev {
		return m.copyAttributes(at{f.src, name}, at{f.dst, name}, want, have)
	}
	if have != nil {
		if err := unix.Unlinkat(f.dst, name, 0); err != nil {
			return fmt.Errorf("remove %s: %w", name, err)
		}
	}
	if err := unix.Mknodat(f.dst, name, want.kind()|0o600, int(want.rdev)); err != nil {
		return fmt.Errorf("make special file: %w", err)
	}
	m.stats.copied.Add(1)
	return m.copyAttributes(at{f.src, name}, at{f.dst, name}, want, nil)
}

func readLinkAt(dir int, name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(dir, name, buf)
	if err != nil {
		return "", fmt.Errorf("read the symbolic link %s: %w", name, err)
	}
	return string(buf[:n]), nil
}
