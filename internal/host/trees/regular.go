package trees

import (
	"errors"
	"fmt"
	"path"

	"golang.org/x/sys/unix"
)

// unsettled is the time given to a copy that the next pass must not trust. No real file
// carries it: ostree and tar set whole seconds.
var unsettled = unix.Timespec{Sec: 0, Nsec: 1}

func (m *mirror) mirrorRegular(f *folder, name, rel string, want meta, have *meta, lenient bool) error {
	if want.nlink > 1 && !m.claimLeader(want, rel) {
		return nil
	}
	if m.isUnchanged(rel, want, have) {
		return m.copyAttributes(at{f.src, name}, at{f.dst, name}, want, have)
	}
	return m.copyFile(f, name, want, have, lenient)
}

// claimLeader claims a file with several names for the first of them; the others become links later.
func (m *mirror) claimLeader(file meta, rel string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	leader, known := m.leaders[file.inode()]
	if !known || leader == rel { // or a further attempt of the same entry
		m.leaders[file.inode()], m.asOf[rel] = rel, file.ctime
		return true
	}
	m.links = append(m.links, link{rel: rel, leader: leader})
	return false
}

// isUnchanged says that the copy in To can stay. Size and times have to be equal, and the copy's change time has to be later
// than the file's: a file changed after the copy is copied again even if its writer restored the old time. Equal change
// times do not count, because the file system's clock advances in steps of milliseconds. A copy that is linked where the
// original is not has to become a file of its own.
func (m *mirror) isUnchanged(rel string, want meta, have *meta) bool {
	if have == nil || m.distrust || containsPath(m.always, rel) {
		return false
	}
	if have.size != want.size || have.mtime != want.mtime || !isAfter(have.ctime, want.ctime) {
		return false
	}
	if want.nlink == 1 {
		return have.nlink == 1
	}
	return m.claimCopy(have.inode(), want.inode())
}

// claimCopy says that the file in To is the copy of no other file of From.
func (m *mirror) claimCopy(copied, original inode) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if owner, ok := m.claimed[copied]; ok && owner != original {
		return false
	}
	m.claimed[copied] = original
	return true
}

func (m *mirror) copyFile(f *folder, name string, want meta, have *meta, lenient bool) error {
	src, err := openSource(f.src, name)
	if err != nil {
		return err
	}
	defer unix.Close(src)
	before, err := statFD(src)
	if err != nil {
		return err
	}
	if before.inode() != want.inode() || before.kind() != unix.S_IFREG {
		return errRaced
	}
	if have != nil {
		if err := unix.Unlinkat(f.dst, name, 0); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("remove %s: %w", name, err)
		}
	}
	steady, err := m.writeCopy(src, f.dst, name, before)
	if err != nil {
		return err
	}
	if !steady && !lenient {
		_ = unix.Unlinkat(f.dst, name, 0)
		return errRaced
	}
	if !steady && !m.r.Live {
		m.log.Warn("file kept changing while it was copied; taken as last read", "path", path.Join(f.rel, name))
	}
	m.stats.copied.Add(1)
	if m.r.Live && (!steady || isAfter(before.mtime, m.quiet)) {
		before.mtime = unsettled
	}
	return m.copyAttributes(at{f.src, name}, at{f.dst, name}, before, nil)
}

// writeCopy copies the contents and says whether they stayed unchanged meanwhile.
func (m *mirror) writeCopy(src, dir int, name string, before meta) (steady bool, err error) {
	flags := unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	dst, err := unix.Openat(dir, name, flags, 0o600)
	if errors.Is(err, unix.EEXIST) {
		// Left by an attempt that is being repeated.
		if err = unix.Unlinkat(dir, name, 0); err == nil {
			dst, err = unix.Openat(dir, name, flags, 0o600)
		}
	}
	if err != nil {
		return false, fmt.Errorf("create: %w", err)
	}
	defer unix.Close(dst)
	got, err := m.copyContents(dst, src, before)
	if err != nil {
		return false, fmt.Errorf("copy contents: %w", err)
	}
	now, err := statFD(src)
	if err != nil {
		return false, err
	}
	return got == before.size && now.size == before.size && now.mtime == before.mtime, nil
}

// openSource opens a file for reading without disturbing it: no access time, no waiting
// on a pipe that replaced it.
func openSource(dir int, name string) (int, error) {
	const flags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	fd, err := unix.Openat(dir, name, flags|unix.O_NOATIME, 0)
	if errors.Is(err, unix.EPERM) {
		fd, err = unix.Openat(dir, name, flags, 0) // another owner: the access time changes
	}
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO) {
		return -1, errRaced
	}
	return fd, err
}
