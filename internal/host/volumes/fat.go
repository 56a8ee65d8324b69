package volumes

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
)

// newReader is a file's content.
func newReader(data []byte) io.Reader { return bytes.NewReader(data) }

// The layout is that of Microsoft's "FAT: General Overview of On-Disk Format" 1.03.
const (
	fatEntry     = 32
	attrVolume   = 0x08
	attrFolder   = 0x10
	attrLongName = 0x0f
	fatDeleted   = 0xe5
)

func isFAT(s []byte) bool {
	bytesPerSector, perCluster := le.Uint16(s[11:]), s[13]
	return s[510] == 0x55 && s[511] == 0xaa && (s[0] == 0xeb || s[0] == 0xe9) &&
		powerOfTwo(uint32(bytesPerSector), 512, 4096) && powerOfTwo(uint32(perCluster), 1, 128) &&
		le.Uint16(s[14:]) > 0 && (s[16] == 1 || s[16] == 2) && s[21] >= 0xf0
}

func powerOfTwo(n, from, to uint32) bool { return n >= from && n <= to && n&(n-1) == 0 }

// fat is an opened FAT12, FAT16 or FAT32.
type fat struct {
	clusters
	rootAt   int64 // of FAT12 and FAT16
	rootSize int64
	rootNode uint32 // cluster, of FAT32
}

func openFAT(ctx context.Context, r io.ReaderAt, s []byte) (*fat, error) {
	if !isFAT(s) { // also where it was one a moment ago
		return nil, errCorrupt
	}
	sector := int64(le.Uint16(s[11:]))
	tableSectors, total := int64(le.Uint16(s[22:])), int64(le.Uint16(s[19:]))
	wide := tableSectors == 0
	if wide {
		tableSectors = int64(le.Uint32(s[36:]))
	}
	if total == 0 {
		total = int64(le.Uint32(s[32:]))
	}
	reserved := int64(le.Uint16(s[14:]))
	f := &fat{rootSize: int64(le.Uint16(s[17:])) * fatEntry}
	f.rootAt = (reserved + int64(s[16])*tableSectors) * sector
	first := f.rootAt + (f.rootSize+sector-1)/sector*sector
	f.clusters = clusters{r: r, size: sector * int64(s[13]), data: first, table: reserved * sector, budget: newBudget(ctx)}
	count := (total*sector - first) / f.size
	if tableSectors == 0 || count < 1 || count > 0x0ffffff5 {
		return nil, errCorrupt
	}
	f.count = uint32(count)
	switch {
	case wide:
		f.bits, f.last, f.rootNode = 32, 0x0ffffff8, le.Uint32(s[44:])
	case count < 4085:
		f.bits, f.last = 12, 0xff8
	default:
		f.bits, f.last = 16, 0xfff8
	}
	return f, nil
}

func (f *fat) readRoot() ([]byte, error) {
	if f.bits == 32 {
		return f.readFolder(f.rootNode, maxFolder, false)
	}
	out := make([]byte, min(f.rootSize, maxFolder))
	_, err := f.r.ReadAt(out, f.rootAt)
	return out, err
}

// labelOfFAT prefers the entry in the root folder, which Windows writes, to the one in the boot sector.
func labelOfFAT(ctx context.Context, r io.ReaderAt, s []byte) (string, error) {
	f, err := openFAT(ctx, r, s)
	if err != nil {
		return "", err
	}
	root, err := f.readRoot()
	if err != nil {
		return "", err
	}
	for ; len(root) >= fatEntry && root[0] != 0; root = root[fatEntry:] {
		if root[0] != fatDeleted && root[11]&(attrVolume|attrFolder) == attrVolume && root[11] != attrLongName {
			return strings.TrimRight(string(root[:11]), " "), nil
		}
	}
	at := 43
	if f.bits == 32 {
		at = 71
	}
	if label := strings.TrimRight(string(s[at:at+11]), " \x00"); label != "NO NAME" {
		return label, nil
	}
	return "", nil
}

func readFAT(ctx context.Context, r io.ReaderAt) (*node, error) {
	s := make([]byte, 512)
	if _, err := r.ReadAt(s, 0); err != nil {
		return nil, fmt.Errorf("read the boot sector: %w", err)
	}
	f, err := openFAT(ctx, r, s)
	if err != nil {
		return nil, err
	}
	entries, err := f.readRoot()
	if err != nil {
		return nil, err
	}
	root := folderNode(".")
	return root, f.addEntries(root, entries, 0)
}

// addEntries adds the entries of a folder.
func (f *fat) addEntries(into *node, entries []byte, depth int) error {
	var long longName
	for ; len(entries) >= fatEntry && entries[0] != 0; entries = entries[fatEntry:] {
		e := entries[:fatEntry]
		if err := f.budget.countEntry(); err != nil {
			return err
		}
		switch {
		case e[0] == fatDeleted:
			long = longName{}
			continue
		case e[11]&0x3f == attrLongName:
			long.addPart(e)
			continue
		}
		name := long.nameOf(e)
		long = longName{}
		if e[11]&attrVolume != 0 || !isUsableName(name) {
			continue
		}
		first := uint32(le.Uint16(e[20:]))<<16 | uint32(le.Uint16(e[26:]))
		if e[11]&attrFolder == 0 {
			into.addChild(f.fileNode(name, first, int64(le.Uint32(e[28:])), false))
			continue
		}
		child := folderNode(name)
		into.addChild(child)
		if depth >= maxDepth || first == 0 {
			continue
		}
		below, err := f.readFolder(first, maxFolder, false)
		if err == nil {
			err = f.addEntries(child, below, depth+1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// longName gathers the entries that precede a short one; they come last part first.
type longName struct {
	parts    [][]byte
	next     byte
	checksum byte
}

func (l *longName) addPart(e []byte) {
	number := e[0] & 0x3f
	if e[0]&0x40 != 0 {
		*l = longName{next: number, checksum: e[13]}
	}
	if number == 0 || number > 20 || number != l.next || e[13] != l.checksum {
		*l = longName{}
		return
	}
	l.next--
	part := append(append(append([]byte{}, e[1:11]...), e[14:26]...), e[28:32]...)
	l.parts = append([][]byte{part}, l.parts...)
}

// nameOf is the name of a short entry: the long one, where one belongs to it.
func (l *longName) nameOf(e []byte) string {
	if len(l.parts) > 0 && l.next == 0 && l.checksum == shortChecksum(e) {
		return decodeUTF16(bytes.Join(l.parts, nil), le)
	}
	base, extension := strings.TrimRight(string(e[:8]), " "), strings.TrimRight(string(e[8:11]), " ")
	if e[12]&0x08 != 0 {
		base = strings.ToLower(base)
	}
	if e[12]&0x10 != 0 {
		extension = strings.ToLower(extension)
	}
	if extension != "" {
		base += "." + extension
	}
	return strings.ToValidUTF8(base, "_")
}

func shortChecksum(e []byte) (sum byte) {
	for _, c := range e[:11] {
		sum = sum>>1 | sum<<7
		sum += c
	}
	return sum
}
