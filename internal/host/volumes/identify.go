package volumes

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
)

// The filesystems, by the kernel's names.
const (
	kindFAT   = "vfat"
	kindExFAT = "exfat"
	kindISO   = "iso9660"
	kindExt   = "ext4"
)

var errNoFilesystem = errors.New("no filesystem that is known here")

var le = binary.LittleEndian

// identifyFilesystem reads the superblock. Only one that fits in full counts; most devices hold none of these.
func identifyFilesystem(ctx context.Context, r io.ReaderAt) (kind, label string, err error) {
	sector := make([]byte, 512)
	if _, err := r.ReadAt(sector, 0); err != nil {
		return "", "", fmt.Errorf("read a sector: %w", err)
	}
	switch {
	case isExFAT(sector):
		label, err := labelOfExFAT(ctx, r)
		return kindExFAT, label, err
	case isFAT(sector):
		label, err := labelOfFAT(ctx, r, sector)
		return kindFAT, label, err
	}
	if label, ok := extLabel(r); ok {
		return kindExt, label, nil
	}
	if label, ok := isoLabel(r); ok {
		return kindISO, label, nil
	}
	return "", "", errNoFilesystem
}

// extLabel reads s_magic and s_volume_name (Linux, Documentation/filesystems/ext4/super.rst).
func extLabel(r io.ReaderAt) (string, bool) {
	super := make([]byte, 1024)
	if _, err := r.ReadAt(super, 1024); err != nil || le.Uint16(super[0x38:]) != 0xEF53 {
		return "", false
	}
	return cString(super[0x78:0x88]), true
}

// isoLabel reads the volume identifier of the primary volume descriptor (ECMA-119, 8.4.7).
func isoLabel(r io.ReaderAt) (string, bool) {
	d := make([]byte, isoSector)
	if _, err := r.ReadAt(d, isoFirstDescriptor*isoSector); err != nil || string(d[1:6]) != "CD001" || d[0] != isoPrimary {
		return "", false
	}
	return strings.TrimRight(string(d[40:72]), " \x00"), true
}

func cString(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// decodeUTF16 decodes UTF-16 up to its first zero.
func decodeUTF16(b []byte, order binary.ByteOrder) string {
	units := make([]uint16, 0, len(b)/2)
	for ; len(b) >= 2; b = b[2:] {
		u := order.Uint16(b)
		if u == 0 {
			break
		}
		units = append(units, u)
	}
	return string(utf16.Decode(units))
}
