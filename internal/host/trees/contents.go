package trees

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

const (
	// chunk is how much is copied between two checks of the context; a live pass also
	// flushes after each, so that a great heap of dirty pages does not hold up the
	// writes of those who are still at work (etcd above all).
	chunk = 32 << 20
	// blockSize is the buffer for file systems that cannot copy by themselves.
	blockSize = 1 << 20
)

// copyContents brings the data of src into the empty dst and returns how much there was.
func (m *mirror) copyContents(dst, src int, was meta) (int64, error) {
	if was.size == 0 {
		return 0, nil
	}
	if !m.noClone.Load() {
		err := unix.IoctlFileClone(dst, src)
		if err == nil {
			return m.recordClone(dst)
		}
		if cannotClone(err) {
			m.noClone.Store(true)
		}
	}
	if was.hasHoles() {
		return m.copySparse(dst, src, was.size)
	}
	end, err := m.copyRange(dst, src, 0, was.size)
	return end, err
}

// recordClone accounts for a reflink, which is of the size the source had at that instant.
func (m *mirror) recordClone(dst int) (int64, error) {
	m.stats.cloned.Add(1)
	now, err := statFD(dst)
	return now.size, err
}

// cannotClone distinguishes "this pair of file systems cannot" from "not this file".
func cannotClone(err error) bool {
	return errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EXDEV) ||
		errors.Is(err, unix.ENOTTY) || errors.Is(err, unix.ENOSYS)
}

// copySparse copies the parts that hold data.
func (m *mirror) copySparse(dst, src int, size int64) (int64, error) {
	if err := unix.Ftruncate(dst, size); err != nil {
		return 0, fmt.Errorf("set the size of the copy: %w", err)
	}
	for off := int64(0); off < size; {
		data, err := unix.Seek(src, off, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break // only a hole from here on
		}
		if err != nil {
			return off, fmt.Errorf("find data: %w", err)
		}
		hole, err := unix.Seek(src, data, unix.SEEK_HOLE)
		if err != nil {
			return off, fmt.Errorf("find the end of data: %w", err)
		}
		end := min(hole, size)
		if data >= end {
			break
		}
		got, err := m.copyRange(dst, src, data, end)
		if err != nil || got < end {
			return got, errors.Join(err, unix.Ftruncate(dst, got))
		}
		off = end
	}
	return size, nil
}

// copyRange copies the bytes from off to end and returns where the source ended.
func (m *mirror) copyRange(dst, src int, off, end int64) (int64, error) {
	for off < end {
		if err := m.ctx.Err(); err != nil {
			return off, err
		}
		n, err := m.copyPiece(dst, src, off, int(min(chunk, end-off)))
		off += int64(n)
		m.stats.bytes.Add(int64(n))
		if errors.Is(err, io.EOF) {
			return off, nil
		}
		if err != nil {
			return off, err
		}
		if m.r.Live && n >= chunk {
			if err := unix.Fdatasync(dst); err != nil {
				return off, fmt.Errorf("flush the copy: %w", err)
			}
		}
	}
	return off, nil
}

// copyPiece copies up to n bytes at one offset: in the kernel, or by hand where it cannot.
func (m *mirror) copyPiece(dst, src int, off int64, n int) (int, error) {
	from, to := off, off
	got, err := unix.CopyFileRange(src, &from, dst, &to, n, 0)
	switch {
	case err == nil && got == 0:
		return 0, io.EOF
	case err == nil:
		return got, nil
	case errors.Is(err, unix.EXDEV), errors.Is(err, unix.EINVAL), errors.Is(err, unix.EOPNOTSUPP),
		errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
		return byHand(dst, src, off, n)
	case errors.Is(err, unix.EINTR):
		return 0, nil
	}
	return 0, err
}

func byHand(dst, src int, off int64, n int) (int, error) {
	buf := make([]byte, min(n, blockSize))
	got, err := unix.Pread(src, buf, off)
	if err != nil {
		return 0, fmt.Errorf("read the original: %w", err)
	}
	if got == 0 {
		return 0, io.EOF
	}
	for done := 0; done < got; {
		w, err := unix.Pwrite(dst, buf[done:got], off+int64(done))
		if err != nil {
			return done, fmt.Errorf("write the copy: %w", err)
		}
		done += w
	}
	return got, nil
}
