package trees

import (
	"errors"
	"fmt"
	"path"

	"golang.org/x/sys/unix"
)

// pruneFolder removes from To what From does not have.
func (m *mirror) pruneFolder(f *folder, keep []string) error {
	have, err := readNames(f.dst)
	if err != nil {
		return fmt.Errorf("list the copy of %s: %w", f.rel, err)
	}
	wanted := make(map[string]struct{}, len(keep))
	for _, name := range keep {
		wanted[name] = struct{}{}
	}
	for _, name := range have {
		rel := path.Join(f.rel, name)
		if _, ok := wanted[name]; ok || containsPath(m.skip, rel) {
			continue
		}
		if err := m.removeEntry(f.dst, name, rel); err != nil {
			return err
		}
		m.stats.removed.Add(1)
	}
	return nil
}

// removeEntry deletes an entry of To, except for skipped paths and mounts below it.
func (m *mirror) removeEntry(dir int, name, rel string) error {
	if err := m.ctx.Err(); err != nil {
		return err
	}
	err := unix.Unlinkat(dir, name, 0)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	if !errors.Is(err, unix.EISDIR) {
		return fmt.Errorf("remove %s: %w", rel, err)
	}
	st, err := statAt(dir, name)
	if err != nil {
		return fmt.Errorf("remove %s: %w", rel, err)
	}
	if st.mount() != m.to {
		return fmt.Errorf("remove %s: it is a mount point: %w", rel, unix.EBUSY)
	}
	kept, err := m.emptyFolder(dir, name, rel)
	if err != nil || kept {
		return err
	}
	if err := unix.Unlinkat(dir, name, unix.AT_REMOVEDIR); err != nil {
		return fmt.Errorf("remove %s: %w", rel, err)
	}
	return nil
}

// emptyFolder removes what is in a folder of To and says whether something had to stay.
func (m *mirror) emptyFolder(dir int, name, rel string) (kept bool, err error) {
	fd, err := openDir(dir, name)
	if err != nil {
		return false, fmt.Errorf("remove %s: %w", rel, err)
	}
	defer unix.Close(fd)
	names, err := readNames(fd)
	if err != nil {
		return false, fmt.Errorf("remove %s: %w", rel, err)
	}
	for _, n := range names {
		sub := path.Join(rel, n)
		if containsPath(m.skip, sub) || m.skipBelow(sub) {
			kept = true
			continue
		}
		if err := m.removeEntry(fd, n, sub); err != nil {
			return false, err
		}
	}
	return kept, nil
}

// skipBelow says whether a skipped path lies below rel.
func (m *mirror) skipBelow(rel string) bool {
	for _, s := range m.skip {
		if containsPath([]string{rel}, s) {
			return true
		}
	}
	return false
}
