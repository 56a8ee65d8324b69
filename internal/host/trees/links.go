package trees

import (
	"errors"
	"fmt"
	"path"

	"golang.org/x/sys/unix"
)

// linkAll makes the further names of files that have several. It runs after the walk, when
// every first name is in place, and restores the folders' times.
func (m *mirror) linkAll() error {
	for _, l := range m.links {
		if err := m.ctx.Err(); err != nil {
			return err
		}
		if err := m.makeLink(l); err != nil {
			return fmt.Errorf("link %s to %s: %w", l.rel, l.leader, err)
		}
	}
	return nil
}

func (m *mirror) makeLink(l link) error {
	leaderDir, err := m.openBelow(m.dst, path.Dir(l.leader))
	if err != nil {
		return err
	}
	defer unix.Close(leaderDir)
	dir, err := m.openBelow(m.dst, path.Dir(l.rel))
	if errors.Is(err, unix.ENOENT) {
		return nil // its folder vanished during the walk
	}
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	leader, err := statAt(leaderDir, path.Base(l.leader))
	if errors.Is(err, unix.ENOENT) {
		return m.copyOrphan(l, dir)
	}
	if err != nil {
		return err
	}
	name := path.Base(l.rel)
	if now, err := statAt(dir, name); err == nil && now.inode() == leader.inode() {
		return nil
	}
	return m.keepTimes(dir, func() error {
		if err := m.removeEntry(dir, name, l.rel); err != nil {
			return err
		}
		m.stats.copied.Add(1)
		if err := unix.Linkat(leaderDir, path.Base(l.leader), dir, name, 0); err != nil {
			return fmt.Errorf("link %s: %w", name, err)
		}
		return m.distrustChanged(leaderDir, l.leader)
	})
}

// distrustChanged makes the next pass copy a live file again that changed since it was read: creating the link updated the copy's
// change time, by which that pass would have noticed.
func (m *mirror) distrustChanged(dst int, leader string) error {
	if !m.r.Live {
		return nil
	}
	name := path.Base(leader)
	src, err := m.openBelow(m.src, path.Dir(leader))
	if err == nil {
		defer unix.Close(src)
		var now meta
		if now, err = statAt(src, name); err == nil && now.ctime == m.asOf[leader] {
			return nil
		}
	}
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return err
	}
	return unix.UtimesNanoAt(dst, name, []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unsettled}, unix.AT_SYMLINK_NOFOLLOW)
}

// copyOrphan copies a hard link whose source was deleted during the copy.
func (m *mirror) copyOrphan(l link, dst int) error {
	src, err := m.openBelow(m.src, path.Dir(l.rel))
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(src)
	f := &folder{rel: path.Dir(l.rel), src: src, dst: dst}
	return m.keepTimes(dst, func() error {
		name := path.Base(l.rel)
		want, err := statAt(src, name)
		if errors.Is(err, unix.ENOENT) {
			return m.removeVanished(f, name, l.rel)
		}
		if err != nil || want.kind() != unix.S_IFREG {
			return err
		}
		if err := m.removeEntry(dst, name, l.rel); err != nil {
			return err
		}
		err = m.copyFile(f, name, want, nil, true)
		if errors.Is(err, errRaced) {
			return nil
		}
		return err
	})
}

// keepTimes restores a folder's times after do has changed its entries.
func (m *mirror) keepTimes(dir int, do func() error) error {
	was, err := statFD(dir)
	if err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	return unix.UtimesNanoAt(dir, ".", []unix.Timespec{was.atime, was.mtime}, 0)
}

// openBelow opens a folder of a tree without following links or leaving its mount.
func (m *mirror) openBelow(root int, rel string) (int, error) {
	return unix.Openat2(root, rel, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV,
	})
}
