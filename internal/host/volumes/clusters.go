package volumes

import (
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
}

func (c clusters) valid(n uint32) bool { return n >= 2 && n-2 < c.count }

// next is the entry of the table; more is false at the end of the chain.
func (c clusters) next(n uint32) (next uint32, more bool, err error) {
	var b [4]byte
	switch c.bits {
	case 12:
		if _, err := c.r.ReadAt(b[:2], c.table+int64(n)*3/2); err != nil {
			return 0, false, err
		}
		next = uint32(le.Uint16(b[:2])) >> (4 * (n & 1)) & 0xfff
	case 16:
		if _, err := c.r.ReadAt(b[:2], c.table+int64(n)*2); err != nil {
			return 0, false, err
		}
		next = uint32(le.Uint16(b[:2]))
	default:
		if _, err := c.r.ReadAt(b[:4], c.table+int64(n)*4); err != nil {
			return 0, false, err
		}
		if next = le.Uint32(b[:]); c.last < 0xfffffff8 {
			next &= 0x0fffffff // FAT32 keeps the upper four bits to itself
		}
	}
	if next >= c.last {
		return 0, false, nil
	}
	if !c.valid(next) {
		return 0, false, errCorrupt
	}
	return next, true, nil
}

// read reads a chain up to a number of bytes; whole says that a chain that ends before is damaged.
func (c clusters) read(first uint32, limit int64, whole, contiguous bool) ([]byte, error) {
	if limit == 0 {
		return nil, nil
	}
	if !c.valid(first) {
		return nil, errCorrupt
	}
	var out []byte
	for n := first; ; {
		part := make([]byte, min(c.size, limit-int64(len(out))))
		if _, err := c.r.ReadAt(part, c.data+int64(n-2)*c.size); err != nil {
			return nil, err
		}
		if out = append(out, part...); int64(len(out)) >= limit {
			return out, nil
		}
		following, more, err := n+1, c.valid(n+1), error(nil)
		if !contiguous {
			following, more, err = c.next(n)
		}
		if err != nil {
			return nil, err
		}
		if !more {
			if whole {
				return nil, errCorrupt
			}
			return out, nil
		}
		n = following
	}
}

// file is a node for a chain.
func (c clusters) file(name string, first uint32, size int64, contiguous bool) *node {
	return &node{name: name, size: size, open: func() (io.Reader, error) {
		data, err := c.read(first, size, true, contiguous)
		return reader(data), err
	}}
}

func folder(name string) *node { return &node{name: name, mode: fs.ModeDir} }
