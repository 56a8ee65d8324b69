package volumes

import (
	"fmt"
	"io"
	"io/fs"
)

// clusters is what FAT and exFAT have in common: data in clusters, and a table that chains them.
type clusters struct {
	r     io.ReaderAt
	size  int64  // bytes of a cluster
	data  int64  // where cluster 2 begins
	count uint32 // of clusters, the first has the number 2
	table int64  // where the table begins
	bits  int    // of an entry: 12, 16, 32
	last  uint32 // an entry from here on ends a chain
	// budget is that of the volume.
	budget *budget
}

func (c clusters) isValid(n uint32) bool { return n >= 2 && n-2 < c.count }

// nextCluster is the entry of the table; more is false at the end of the chain.
func (c clusters) nextCluster(n uint32) (next uint32, more bool, err error) {
	var b [4]byte
	switch c.bits {
	case 12:
		if _, err := c.r.ReadAt(b[:2], c.table+int64(n)*3/2); err != nil {
			return 0, false, fmt.Errorf("read the allocation table: %w", err)
		}
		next = uint32(le.Uint16(b[:2])) >> (4 * (n & 1)) & 0xfff
	case 16:
		if _, err := c.r.ReadAt(b[:2], c.table+int64(n)*2); err != nil {
			return 0, false, fmt.Errorf("read the allocation table: %w", err)
		}
		next = uint32(le.Uint16(b[:2]))
	default:
		if _, err := c.r.ReadAt(b[:4], c.table+int64(n)*4); err != nil {
			return 0, false, fmt.Errorf("read the allocation table: %w", err)
		}
		if next = le.Uint32(b[:]); c.last < 0xfffffff8 {
			next &= 0x0fffffff // FAT32 keeps the upper four bits to itself
		}
	}
	if next >= c.last {
		return 0, false, nil
	}
	if !c.isValid(next) {
		return 0, false, errCorrupt
	}
	return next, true, nil
}

// walkChain visits the clusters of a chain, by where they begin, until visit wants no more; whole reports that the chain ended
// before. A chain that comes back to one of its clusters is damaged: the mark is moved on after 1, 2, 4, 8, … steps,
// until it is in the circle and the chain comes by.
func (c clusters) walkChain(first uint32, contiguous bool, visit func(at int64) (more bool, err error)) (whole bool, err error) {
	if !c.isValid(first) {
		return false, errCorrupt
	}
	mark, steps, until := uint32(0), 0, 1
	for n := first; ; {
		if n == mark {
			return false, errCorrupt
		}
		if steps++; steps == until {
			mark, until = n, 2*until
		}
		if more, err := visit(c.data + int64(n-2)*c.size); err != nil || !more {
			return false, err
		}
		following, more, err := n+1, c.isValid(n+1), error(nil)
		if !contiguous {
			following, more, err = c.nextCluster(n)
		}
		if err != nil || !more {
			return true, err
		}
		n = following
	}
}

// folderPiece is how much of a folder is read at once: most end in the first one, and clusters may be large.
const folderPiece = 4 << 10

// readFolder reads the entries of a folder, up to its end or a number of bytes.
func (c clusters) readFolder(first uint32, limit int64, contiguous bool) ([]byte, error) {
	if err := c.budget.enterFolder(int64(first)); err != nil {
		return nil, err
	}
	var out []byte
	_, err := c.walkChain(first, contiguous, func(at int64) (bool, error) {
		for end := at + c.size; at < end; {
			size := min(folderPiece, end-at, limit-int64(len(out)))
			if err := c.budget.spendBytes(&c.budget.folders, size); err != nil {
				return false, err
			}
			have := len(out)
			out = append(out, make([]byte, size)...)
			if _, err := c.r.ReadAt(out[have:], at); err != nil {
				return false, fmt.Errorf("read a folder: %w", err)
			}
			if at += size; hasEndMark(out[have:]) || int64(len(out)) >= limit {
				return false, nil
			}
		}
		return true, nil
	})
	return out, err
}

// hasEndMark reports that entries have the mark of the end.
func hasEndMark(entries []byte) bool {
	for ; len(entries) >= fatEntry; entries = entries[fatEntry:] {
		if entries[0] == 0 {
			return true
		}
	}
	return false
}

// readChain reads a file. A chain that ends before it does is damaged.
func (c clusters) readChain(first uint32, size int64, contiguous bool) ([]byte, error) {
	if size == 0 {
		return nil, nil
	}
	var out []byte
	short, err := c.walkChain(first, contiguous, func(at int64) (bool, error) {
		part := min(c.size, size-int64(len(out)))
		if err := c.budget.spendBytes(&c.budget.content, part); err != nil {
			return false, err
		}
		have := len(out)
		out = append(out, make([]byte, part)...)
		if _, err := c.r.ReadAt(out[have:], at); err != nil {
			return false, fmt.Errorf("read a file: %w", err)
		}
		return int64(len(out)) < size, nil
	})
	if err == nil && short {
		err = errCorrupt
	}
	return out, err
}

// fileNode is a node for a chain.
func (c clusters) fileNode(name string, first uint32, size int64, contiguous bool) *node {
	return &node{name: name, size: size, open: func() (io.Reader, error) {
		data, err := c.readChain(first, size, contiguous)
		return newReader(data), err
	}}
}

func folderNode(name string) *node { return &node{name: name, mode: fs.ModeDir} }
