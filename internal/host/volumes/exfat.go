package volumes

import (
	"context"
	"fmt"
	"io"
)

// The layout is that of Microsoft's "exFAT file system specification".
const (
	exBitLabel    = 0x83
	exBitFile     = 0x85
	exBitStream   = 0xc0
	exBitName     = 0xc1
	exContiguous  = 0x02
	exAttrFolder  = 0x10
	exNameInEntry = 15
)

func isExFAT(s []byte) bool {
	return string(s[3:11]) == "EXFAT   " && s[510] == 0x55 && s[511] == 0xaa && s[108] >= 9 && s[108] <= 12 && s[109] <= 25-s[108]
}

type exFAT struct {
	clusters
	rootNode uint32
}

func openExFAT(ctx context.Context, r io.ReaderAt) (*exFAT, error) {
	s := make([]byte, 512)
	if _, err := r.ReadAt(s, 0); err != nil {
		return nil, fmt.Errorf("read the boot sector: %w", err)
	}
	if !isExFAT(s) {
		return nil, errCorrupt
	}
	shift := s[108]
	return &exFAT{rootNode: le.Uint32(s[96:]), clusters: clusters{
		budget: newBudget(ctx),
		r:      r, size: 1 << (shift + s[109]), data: int64(le.Uint32(s[88:])) << shift, count: le.Uint32(s[92:]),
		table: int64(le.Uint32(s[80:])) << shift, bits: 32, last: 0xfffffff8,
	}}, nil
}

func (x *exFAT) readRoot() ([]byte, error) { return x.readFolder(x.rootNode, maxFolder, false) }

func labelOfExFAT(ctx context.Context, r io.ReaderAt) (string, error) {
	x, err := openExFAT(ctx, r)
	if err != nil {
		return "", err
	}
	root, err := x.readRoot()
	if err != nil {
		return "", err
	}
	for ; len(root) >= fatEntry && root[0] != 0; root = root[fatEntry:] {
		if root[0] == exBitLabel {
			return decodeUTF16(root[2:2+2*min(int(root[1]), 11)], le), nil
		}
	}
	return "", nil
}

func readExFAT(ctx context.Context, r io.ReaderAt) (*node, error) {
	x, err := openExFAT(ctx, r)
	if err != nil {
		return nil, err
	}
	entries, err := x.readRoot()
	if err != nil {
		return nil, err
	}
	root := folderNode(".")
	return root, x.addEntries(root, entries, 0)
}

// addEntries adds the entries of a folder. A file is a set of entries: itself, its data, its name.
func (x *exFAT) addEntries(into *node, entries []byte, depth int) error {
	for len(entries) >= fatEntry && entries[0] != 0 {
		e := entries[:fatEntry]
		entries = entries[fatEntry:]
		if err := x.budget.countEntry(); err != nil {
			return err
		}
		if e[0] != exBitFile {
			continue
		}
		set := int(e[1]) * fatEntry
		if set < 2*fatEntry || set > len(entries) || entries[0] != exBitStream {
			return errCorrupt
		}
		err := x.addEntrySet(into, e, entries[:fatEntry], entries[fatEntry:set], depth)
		if err != nil {
			return err
		}
		entries = entries[set:]
	}
	return nil
}

func (x *exFAT) addEntrySet(into *node, file, stream, names []byte, depth int) error {
	var name []byte
	for ; len(names) >= fatEntry && names[0] == exBitName; names = names[fatEntry:] {
		name = append(name, names[2:2+2*exNameInEntry]...)
	}
	text := decodeUTF16(name[:min(len(name), 2*int(stream[3]))], le)
	if !isUsableName(text) {
		return nil
	}
	first, contiguous := le.Uint32(stream[20:]), stream[1]&exContiguous != 0
	length := le.Uint64(stream[24:])
	if valid := le.Uint64(stream[8:]); valid > length || length > 1<<62 {
		return errCorrupt
	}
	if le.Uint16(file[4:])&exAttrFolder == 0 {
		into.addChild(x.fileNode(text, first, int64(le.Uint64(stream[8:])), contiguous))
		return nil
	}
	child := folderNode(text)
	into.addChild(child)
	if depth >= maxDepth || length == 0 {
		return nil
	}
	below, err := x.readFolder(first, min(int64(length), maxFolder), contiguous)
	if err != nil {
		return err
	}
	return x.addEntries(child, below, depth+1)
}
