package archive

import (
	"archive/tar"
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"syscall"
	"time"
)

type statT = syscall.Stat_t

// paxTime is a time as PAX records have it, in decimal seconds. Before 1970 both parts count down from it.
func paxTime(t time.Time) string {
	seconds, part, sign := t.Unix(), int64(t.Nanosecond()), ""
	if part == 0 {
		return strconv.FormatInt(seconds, 10)
	}
	if seconds < 0 {
		seconds, part, sign = -seconds-1, 1e9-part, "-"
	}
	return fmt.Sprintf("%s%d.%09d", sign, seconds, part)
}

// paxBody encodes records, each of which begins with its own length, in order of their keys.
func paxBody(records map[string]string) []byte {
	var b bytes.Buffer
	for _, k := range slices.Sorted(maps.Keys(records)) {
		rest := " " + k + "=" + records[k] + "\n"
		n := len(rest) + 1
		for len(strconv.Itoa(n))+len(rest) != n {
			n = len(strconv.Itoa(n)) + len(rest)
		}
		b.WriteString(strconv.Itoa(n) + rest)
	}
	return b.Bytes()
}

// headerBlock is a header block of the ustar format. Sizes beyond its field are in the PAX record.
func headerBlock(name string, kind byte, mode, size int64, h *tar.Header) []byte {
	b := make([]byte, 512)
	copy(b[0:100], name)
	putOctal(b[100:108], mode&0o7777)
	putOctal(b[108:116], int64(h.Uid))
	putOctal(b[116:124], int64(h.Gid))
	putOctal(b[124:136], min(size, 0o77777777777))
	putOctal(b[136:148], max(h.ModTime.Unix(), 0))
	b[156] = kind
	copy(b[257:265], "ustar\x0000")
	copy(b[148:156], "        ")
	sum := int64(0)
	for _, c := range b {
		sum += int64(c)
	}
	copy(b[148:156], fmt.Sprintf("%06o\x00 ", sum))
	return b
}

// putOctal writes a number into a field; one that does not fit is cut, and belongs into a PAX record.
func putOctal(field []byte, n int64) {
	text := fmt.Sprintf("%0*o", len(field)-1, n)
	copy(field, text[len(text)-(len(field)-1):])
}
