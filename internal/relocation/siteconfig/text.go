package siteconfig

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// plainText undoes what editors of other systems do to a text file: byte order marks and UTF-16. Line ends stay; YAML
// knows both.
func plainText(data []byte) (string, *Problem) {
	if len(data) > MaxSize {
		return "", &Problem{Want: fmt.Sprintf("the file is %d bytes long; at most %d are read", len(data), MaxSize)}
	}
	switch {
	case bytes.HasPrefix(data, []byte{0xef, 0xbb, 0xbf}):
		data = data[3:]
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		return fromUTF16(data[2:], binary.LittleEndian)
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		return fromUTF16(data[2:], binary.BigEndian)
	}
	if i := bytes.IndexByte(data, 0); i >= 0 || !utf8.Valid(data) {
		return "", &Problem{Want: "the file is not plain text; save it as UTF-8 text (not as a document of a word processor)"}
	}
	return string(data), nil
}

func fromUTF16(data []byte, order binary.ByteOrder) (string, *Problem) {
	if len(data)%2 != 0 {
		return "", &Problem{Want: "the file is cut off: it is UTF-16 text with an odd number of bytes; copy it again"}
	}
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	return string(utf16.Decode(units)), nil
}
