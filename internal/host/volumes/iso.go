package volumes

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// The layout is ECMA-119 (ISO9660), with the names of Rock Ridge (IEEE P1282) or Joliet where there are.
const (
	isoSector          = 2048
	isoFirstDescriptor = 16
	isoPrimary         = 1
	isoSupplementary   = 2
	isoEnd             = 255
	isoMaxDescriptors  = 32
	isoFlagFolder      = 0x02
	isoFlagMore        = 0x80
)

type iso struct {
	r      io.ReaderAt
	joliet bool
	rock   bool
	skip   int // bytes before the system use fields
	budget *budget
}

func readISO(ctx context.Context, r io.ReaderAt) (*node, error) {
	primary, joliet, err := isoRoots(r)
	if err != nil {
		return nil, err
	}
	i := &iso{r: r, budget: newBudget(ctx)}
	entries, err := i.readFolder(primary)
	if err != nil {
		return nil, err
	}
	i.detectRock(entries)
	if !i.rock && joliet != nil {
		i.joliet = true
		if entries, err = i.readFolder(joliet); err != nil {
			return nil, err
		}
	}
	root := folderNode(".")
	return root, i.addEntries(root, entries, 0)
}

// isoRoots are the records of the root folder, with plain names and with Joliet's.
func isoRoots(r io.ReaderAt) (primary, joliet []byte, err error) {
	for n := range int64(isoMaxDescriptors) {
		d := make([]byte, isoSector)
		if _, err := r.ReadAt(d, (isoFirstDescriptor+n)*isoSector); err != nil {
			return nil, nil, fmt.Errorf("read descriptor %d: %w", n, err)
		}
		if string(d[1:6]) != "CD001" || d[0] == isoEnd {
			break
		}
		escape := string(d[88:91])
		switch {
		case d[0] == isoPrimary && primary == nil:
			primary = d[156:190]
		case d[0] == isoSupplementary && slices.Contains([]string{"%/@", "%/C", "%/E"}, escape):
			joliet = d[156:190]
		}
	}
	if primary == nil {
		return nil, nil, errCorrupt
	}
	return primary, joliet, nil
}

// readFolder reads a folder's entries.
func (i *iso) readFolder(record []byte) ([]byte, error) {
	size := int64(le.Uint32(record[10:]))
	if size > maxFolder {
		return nil, errTooMany
	}
	start := int64(le.Uint32(record[2:])) * isoSector
	err := i.budget.enterFolder(start)
	if err == nil {
		err = i.budget.spendBytes(&i.budget.folders, size)
	}
	if err != nil {
		return nil, err
	}
	out := make([]byte, size)
	_, err = i.r.ReadAt(out, start)
	return out, err
}

// addEntries adds the entries of a folder.
func (i *iso) addEntries(into *node, entries []byte, depth int) error {
	for at := 0; at < len(entries); {
		length := int(entries[at])
		if length == 0 { // none crosses a sector
			at = (at/isoSector + 1) * isoSector
			continue
		}
		if length < 34 || at+length > len(entries) || 33+int(entries[at+32]) > length {
			return errCorrupt
		}
		if err := i.budget.countEntry(); err != nil {
			return err
		}
		if err := i.addRecord(into, entries[at:at+length], depth); err != nil {
			return err
		}
		at += length
	}
	return nil
}

func (i *iso) addRecord(into *node, record []byte, depth int) error {
	name, mode := i.nameOf(record)
	if !isUsableName(name) {
		return nil
	}
	flags, start, size := record[25], int64(le.Uint32(record[2:]))*isoSector, int64(le.Uint32(record[10:]))
	if mode == 0 && flags&isoFlagFolder != 0 {
		child := folderNode(name)
		into.addChild(child)
		if depth >= maxDepth {
			return nil
		}
		below, err := i.readFolder(record)
		if err != nil {
			return err
		}
		return i.addEntries(child, below, depth+1)
	}
	if flags&isoFlagMore != 0 {
		mode = fs.ModeIrregular // longer than any file that is read here
	}
	into.addChild(&node{name: name, mode: mode, size: size, open: func() (io.Reader, error) {
		if err := i.budget.spendBytes(&i.budget.content, size); err != nil {
			return nil, err
		}
		data := make([]byte, size)
		_, err := i.r.ReadAt(data, start)
		return newReader(data), err
	}})
	return nil
}

// nameOf is the name of a record; the root's own two records have none. The mode is that of what is not a file or a
// folder.
func (i *iso) nameOf(record []byte) (string, fs.FileMode) {
	id := record[33 : 33+int(record[32])]
	if len(id) == 1 && id[0] <= 1 {
		return "", 0
	}
	if i.rock {
		if name, mode := i.rockName(record); name != "" {
			return name, mode
		}
	}
	name := string(id)
	if i.joliet {
		name = decodeUTF16(id, binary.BigEndian)
	}
	name, _, _ = strings.Cut(name, ";")
	if !i.joliet {
		name = strings.ToLower(strings.TrimSuffix(name, "."))
	}
	return strings.ToValidUTF8(name, "_"), 0
}
