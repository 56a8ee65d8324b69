package archive

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

type unixStat = statT

var zeroTime time.Time

// extent is a part of a file that holds data.
type extent struct{ at, size int64 }

// worthwhile is how much of a file must be holes to store it as a sparse one.
const worthwhile = 64 << 10

// dataExtents lists the data of a file with holes; nil for one to store whole.
func dataExtents(f *os.File, size int64) ([]extent, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil, fmt.Errorf("measure the file: %w", err)
	}
	if size-st.Blocks*512 < worthwhile {
		return nil, nil
	}
	var parts []extent
	var holes int64
	for at := int64(0); at < size; {
		from, err := unix.Seek(int(f.Fd()), at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("find data: %w", err)
		}
		to, err := unix.Seek(int(f.Fd()), from, unix.SEEK_HOLE)
		if err != nil {
			return nil, fmt.Errorf("find the end of data: %w", err)
		}
		to = min(to, size)
		if from >= to {
			break
		}
		parts, at = append(parts, extent{from, to - from}), to
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("rewind the file: %w", err)
	}
	if parts, holes = mergeExtents(parts, size); holes < worthwhile {
		return nil, nil
	}
	if n := len(parts); n == 0 || parts[n-1].at+parts[n-1].size < size {
		parts = append(parts, extent{size, 0}) // GNU tar marks the end so
	}
	return parts, nil
}

// maxParts bounds the table of a sparse file: readers, archive/tar among them, take one of at most 1 MiB.
const maxParts = 20_000

// mergeExtents stores holes as zeros, small ones first, until few parts are left. It also returns how much the holes are that stay.
func mergeExtents(parts []extent, size int64) (out []extent, holes int64) {
	for smallest := int64(hole); len(parts) > maxParts; smallest *= 2 {
		kept := parts[:1]
		for _, e := range parts[1:] {
			if last := &kept[len(kept)-1]; e.at-last.at-last.size < smallest {
				last.size = e.at + e.size - last.at
			} else {
				kept = append(kept, e)
			}
		}
		parts = kept
	}
	holes = size
	for _, e := range parts {
		holes -= e.size
	}
	return parts, holes
}

// writeSparse writes a file in GNU's PAX format 1.0, which archive/tar reads and does not write.
func (p *packer) writeSparse(f *os.File, h *tar.Header, parts []extent, sum hash.Hash) error {
	var table bytes.Buffer
	fmt.Fprintf(&table, "%d\n", len(parts))
	stored := int64(0)
	for _, e := range parts {
		fmt.Fprintf(&table, "%d\n%d\n", e.at, e.size)
		stored += e.size
	}
	table.Write(make([]byte, padding(int64(table.Len()))))
	if err := p.sparseHeader(h, int64(table.Len())+stored); err != nil {
		return err
	}
	if _, err := p.to.Write(table.Bytes()); err != nil {
		return fmt.Errorf("write the table of extents: %w", err)
	}
	at := int64(0)
	for _, e := range parts {
		if err := hashZeros(sum, e.at-at); err != nil {
			return err
		}
		n, err := io.CopyBuffer(onlyWriter{io.MultiWriter(p.to, sum)}, io.NewSectionReader(f, e.at, e.size), p.buf)
		if err != nil {
			return fmt.Errorf("write an extent: %w", err)
		}
		if n < e.size {
			return errors.New("it became shorter while it was read")
		}
		at = e.at + e.size
	}
	_, err := p.to.Write(make([]byte, padding(stored)))
	return err
}

// maxRecords bounds a PAX header, as in archive/tar.
const maxRecords = 1 << 20

// sparseHeader writes the header by hand, since archive/tar drops these records. What it writes besides is left to it.
func (p *packer) sparseHeader(h *tar.Header, size int64) error {
	if err := p.tar.Flush(); err != nil {
		return fmt.Errorf("flush the previous entry: %w", err)
	}
	records := map[string]string{
		"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": h.Name,
		"GNU.sparse.realsize": strconv.FormatInt(h.Size, 10), "size": strconv.FormatInt(size, 10),
		"mtime": paxTime(h.ModTime), "uid": strconv.Itoa(h.Uid), "gid": strconv.Itoa(h.Gid),
	}
	for k, v := range h.PAXRecords {
		records[k] = v
	}
	body := paxBody(records)
	if len(body) > maxRecords {
		return tar.ErrFieldTooLong
	}
	if _, err := p.to.Write(headerBlock("PaxHeaders/sparse", 'x', 0o600, int64(len(body)), h)); err != nil {
		return fmt.Errorf("write the extended header's block: %w", err)
	}
	if _, err := p.to.Write(append(body, make([]byte, padding(int64(len(body))))...)); err != nil {
		return fmt.Errorf("write the extended header: %w", err)
	}
	name := "GNUSparseFile.0/" + path.Base(h.Name)
	_, err := p.to.Write(headerBlock(name[:min(len(name), 100)], tar.TypeReg, h.Mode, size, h))
	return err
}

// hashZeros feeds a hole to the checksum.
func hashZeros(sum hash.Hash, n int64) error {
	_, err := io.CopyN(sum, zeroReader{}, n)
	return err
}

type zeroReader struct{}

func (zeroReader) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// padding fills up to a block of tar.
func padding(n int64) int64 { return -n & 511 }
