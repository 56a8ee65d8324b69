package archive

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// Prefixes and keys of PAX records, as GNU tar and star have them.
const (
	recordXattr   = "SCHILY.xattr."
	recordSELinux = "RHT.security.selinux"
	recordACL     = "SCHILY.acl.access"
	recordDefault = "SCHILY.acl.default"
)

// Extended attributes with a record of their own beside that of xattrs.
const (
	xattrSELinux = "security.selinux"
	xattrACL     = "system.posix_acl_access"
	xattrDefault = "system.posix_acl_default"
)

// The key of a record ends at its first equals sign, so GNU tar (xheader.c) writes one in a name as %3D, and % as %25.
var (
	encodeXattr = strings.NewReplacer("%", "%25", "=", "%3D")
	decodeXattr = strings.NewReplacer("%25", "%", "%3D", "=")
)

// readXattrs are the extended attributes of a file as PAX records; links are not followed.
func readXattrs(full string) (map[string]string, error) {
	names, err := listXattrs(full)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	records := map[string]string{}
	for _, name := range names {
		value, err := getXattr(full, name)
		if errors.Is(err, unix.ENODATA) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the attribute %s: %w", name, err)
		}
		records[recordXattr+encodeXattr.Replace(name)] = string(value)
		switch name {
		case xattrSELinux:
			records[recordSELinux] = strings.TrimRight(string(value), "\x00")
		case xattrACL, xattrDefault:
			key := recordACL
			if name == xattrDefault {
				key = recordDefault
			}
			if text, ok := aclText(value); ok {
				records[key] = text
			}
		}
	}
	return records, nil
}

func listXattrs(full string) ([]string, error) {
	buf := make([]byte, 1<<10)
	n, err := unix.Llistxattr(full, buf)
	if errors.Is(err, unix.ERANGE) {
		buf = make([]byte, 64<<10) // XATTR_LIST_MAX
		n, err = unix.Llistxattr(full, buf)
	}
	if errors.Is(err, unix.ENOTSUP) {
		return nil, nil
	}
	if err != nil || n == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimRight(string(buf[:n]), "\x00"), "\x00"), nil
}

func getXattr(full, name string) ([]byte, error) {
	buf := make([]byte, 256)
	n, err := unix.Lgetxattr(full, name, buf)
	if errors.Is(err, unix.ERANGE) {
		buf = make([]byte, 64<<10) // XATTR_SIZE_MAX
		n, err = unix.Lgetxattr(full, name, buf)
	}
	if err != nil {
		return nil, fmt.Errorf("read extended attribute %s: %w", name, err)
	}
	return buf[:n], nil
}

// aclText turns the kernel's binary form of an ACL (linux/posix_acl_xattr.h) into the text of acl(5), with numeric ids.
func aclText(value []byte) (string, bool) {
	const head, entry = 4, 8
	if len(value) < head || (len(value)-head)%entry != 0 {
		return "", false
	}
	kinds := map[uint16]string{1: "user:", 2: "user", 4: "group:", 8: "group", 0x10: "mask:", 0x20: "other:"}
	var lines []string
	for b := value[head:]; len(b) > 0; b = b[entry:] {
		tag, perm, id := binary.LittleEndian.Uint16(b), binary.LittleEndian.Uint16(b[2:]), binary.LittleEndian.Uint32(b[4:])
		kind, ok := kinds[tag]
		if !ok {
			return "", false
		}
		if tag == 2 || tag == 8 {
			kind += fmt.Sprintf(":%d", id)
		}
		lines = append(lines, kind+":"+permText(perm))
	}
	return strings.Join(lines, "\n") + "\n", true
}

func permText(perm uint16) string {
	out := []byte("---")
	for i, bit := range []uint16{4, 2, 1} {
		if perm&bit != 0 {
			out[i] = "rwx"[i]
		}
	}
	return string(out)
}
