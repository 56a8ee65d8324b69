// Package iso writes a small ISO9660 image with Joliet names: a folder of a few files under a label, as every system
// reads it. The maker of many sites calls it; it imports the standard library only.
//
// Format: ECMA-119; Joliet is its supplementary descriptor with UCS-2 names.
package iso

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"
	"unicode/utf16"
)

// File is one file of the image.
type File struct {
	Name string
	Data []byte
}

const (
	sector     = 2048
	descriptor = 16 // where descriptors begin, in sectors
	maxLabel   = 32
	maxName    = 64 // characters that Joliet allows
	// Where things are, in sectors.
	tables    = 19 // little- and big-endian path table, plain and Joliet
	roots     = 23 // plain and Joliet root folder
	firstFile = 25
)

// Image makes an image. The same input makes the same bytes.
func Image(label string, files []File, now time.Time) ([]byte, error) {
	if label == "" || len(label) > maxLabel {
		return nil, fmt.Errorf("label %q must have 1 to %d characters", label, maxLabel)
	}
	size := firstFile
	starts := make([]int, len(files))
	for i, f := range files {
		if f.Name == "" || len(f.Name) > maxName || strings.ContainsAny(f.Name, "/\\*:;?\x00") {
			return nil, fmt.Errorf("name %q must be a file name of at most %d characters", f.Name, maxName)
		}
		starts[i] = size
		size += (len(f.Data) + sector - 1) / sector
	}
	w := &writer{out: make([]byte, size*sector), now: now.UTC()}
	for i, f := range files {
		copy(w.out[starts[i]*sector:], f.Data)
	}
	for n, joliet := range []bool{false, true} {
		if err := w.writeFolder(roots+n, files, starts, joliet); err != nil {
			return nil, err
		}
		w.pathTables(tables+2*n, roots+n)
		w.writeDescriptor(descriptor+n, label, size, tables+2*n, roots+n, joliet)
	}
	end := w.out[(descriptor+2)*sector:]
	end[0], end[6] = 255, 1
	copy(end[1:], "CD001")
	return w.out, nil
}

type writer struct {
	out []byte
	now time.Time
}

// both writes a number in both byte orders, as most fields of the format are.
func putBoth32(b []byte, n int) {
	binary.LittleEndian.PutUint32(b, uint32(n))
	binary.BigEndian.PutUint32(b[4:], uint32(n))
}

func putBoth16(b []byte, n int) {
	binary.LittleEndian.PutUint16(b, uint16(n))
	binary.BigEndian.PutUint16(b[2:], uint16(n))
}

func (w *writer) writeDescriptor(at int, label string, size, tables, root int, joliet bool) {
	d := w.out[at*sector : (at+1)*sector]
	d[0], d[6] = 1, 1
	copy(d[1:], "CD001")
	text := func(from, to int, s string) {
		field := d[from:to]
		if joliet {
			for i := 0; i+1 < len(field); i += 2 {
				field[i+1] = ' '
			}
			copy(field[:len(field)&^1], encodeUCS2(s))
			return
		}
		copy(field, s+strings.Repeat(" ", len(field)))
	}
	text(8, 40, "")
	text(40, 72, label)
	if joliet {
		d[0] = 2
		copy(d[88:], "%/E")
	}
	putBoth32(d[80:], size)
	putBoth16(d[120:], 1)
	putBoth16(d[124:], 1)
	putBoth16(d[128:], sector)
	putBoth32(d[132:], 10) // bytes of a path table with the root alone
	binary.LittleEndian.PutUint32(d[140:], uint32(tables))
	binary.BigEndian.PutUint32(d[148:], uint32(tables+1))
	copy(d[156:], w.directoryRecord([]byte{0}, root, sector, true))
	for _, field := range [][2]int{{190, 318}, {318, 446}, {446, 574}, {574, 702}, {702, 739}, {739, 776}, {776, 813}} {
		text(field[0], field[1], "")
	}
	stamp := w.now.Format("20060102150405") + "00"
	for _, from := range []int{813, 830} {
		copy(d[from:], stamp)
	}
	for _, from := range []int{847, 864} {
		copy(d[from:], "0000000000000000")
	}
	d[881] = 1
}

// pathTables hold the root folder alone.
func (w *writer) pathTables(at, root int) {
	little, big := w.out[at*sector:], w.out[(at+1)*sector:]
	little[0], big[0] = 1, 1
	binary.LittleEndian.PutUint32(little[2:], uint32(root))
	binary.BigEndian.PutUint32(big[2:], uint32(root))
	binary.LittleEndian.PutUint16(little[6:], 1)
	binary.BigEndian.PutUint16(big[6:], 1)
}

func (w *writer) writeFolder(at int, files []File, starts []int, joliet bool) error {
	out := append(w.directoryRecord([]byte{0}, at, sector, true), w.directoryRecord([]byte{1}, at, sector, true)...)
	for i, f := range files {
		name := []byte(plainName(f.Name))
		if joliet {
			name = encodeUCS2(f.Name)
		}
		out = append(out, w.directoryRecord(name, starts[i], len(f.Data), false)...)
	}
	if len(out) > sector {
		return fmt.Errorf("%d files are too many for one image", len(files))
	}
	copy(w.out[at*sector:], out)
	return nil
}

func (w *writer) directoryRecord(name []byte, start, size int, folder bool) []byte {
	r := make([]byte, 33+len(name)+(1-len(name)&1))
	r[0], r[32] = byte(len(r)), byte(len(name))
	putBoth32(r[2:], start)
	putBoth32(r[10:], size)
	for i, n := range []int{w.now.Year() - 1900, int(w.now.Month()), w.now.Day(), w.now.Hour(), w.now.Minute(), w.now.Second()} {
		r[18+i] = byte(n)
	}
	if folder {
		r[25] = 2
	}
	putBoth16(r[28:], 1)
	copy(r[33:], name)
	return r
}

// plainName is what systems without Joliet see.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, strings.ToUpper(name)) + ";1"
}

func encodeUCS2(s string) (out []byte) {
	for _, u := range utf16.Encode([]rune(s)) {
		out = binary.BigEndian.AppendUint16(out, u)
	}
	return out
}
