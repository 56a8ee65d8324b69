package wire

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"net/url"
	"regexp"
	"strings"
)

// dataURL is how Ignition carries the contents of files (RFC 2397).
var dataURL = regexp.MustCompile(`data:([^,"'\s]*),([^"'\s]*)`)

// maxInflated bounds what a compressed file may unpack to.
const maxInflated = 4 << 20

// MayHoldDataURL finds the scheme by its colon, which is rarer than any letter: base64 has none. A field called "data" is followed by a
// blank, a quote or nothing.
func MayHoldDataURL(text string) bool {
	for i := IndexColon(text, 0); i >= 0; i = IndexColon(text, i+1) {
		if strings.HasSuffix(text[:i], "data") && strings.TrimLeft(text[i+1:min(i+2, len(text))], "\"' \t\n\f\r") != "" {
			return true
		}
	}
	return false
}

// decodeDataURL decodes the contents of a data URL of that type.
func decodeDataURL(mediaType, contents string) (plain string, isBase64 bool, err error) {
	if !strings.HasSuffix(mediaType, ";base64") {
		plain, err = url.PathUnescape(contents)
		return plain, false, err
	}
	decoded, err := base64.StdEncoding.DecodeString(contents)
	return string(decoded), true, err
}

// DataURLs decodes and unpacks the data URLs of a text; one that does not decode is left out.
func DataURLs(text string) []string {
	if !MayHoldDataURL(text) {
		return nil
	}
	var out []string
	for _, m := range dataURL.FindAllStringSubmatch(text, -1) {
		if plain, _, err := decodeDataURL(m[1], m[2]); err == nil {
			out = append(out, inflate(plain))
		}
	}
	return out
}

func inflate(content string) string {
	r, err := gzip.NewReader(strings.NewReader(content))
	if err != nil {
		return content
	}
	var plain bytes.Buffer
	if _, err := io.Copy(&plain, io.LimitReader(r, maxInflated)); err != nil {
		return content
	}
	return plain.String()
}

// EditDataURLs edits the contents of a text's data URLs and encodes them as they were. Compressed contents are edited as they are:
// what they mention is reported (DataURLs), not changed.
func EditDataURLs(text string, change func(content string) []Edit) string {
	var edits []Edit
	for _, at := range dataURL.FindAllStringSubmatchIndex(text, -1) {
		start, end := at[4], at[5]
		plain, isBase64, err := decodeDataURL(text[at[2]:at[3]], text[start:end])
		if err != nil {
			continue
		}
		switch changes := change(plain); {
		case len(changes) == 0:
		case isBase64:
			edits = append(edits, Edit{start, end, base64.StdEncoding.EncodeToString([]byte(Splice(plain, changes)))})
		default:
			edits = append(edits, Edit{start, end, editEscaped(text[start:end], changes)})
		}
	}
	return Splice(text, edits)
}

// editEscaped applies edits of the decoded text to its percent-encoding. A new byte is escaped as the text escapes it elsewhere, or as a
// URL needs it.
func editEscaped(encoded string, edits []Edit) string {
	var at []int // where each decoded byte is written
	known := map[byte]string{}
	for i := 0; i < len(encoded); i++ {
		at = append(at, i)
		if encoded[i] == '%' {
			unit := encoded[i : i+3]
			plain, _ := url.PathUnescape(unit) // it decodes: the text that it is part of did
			known[plain[0]] = unit
			i += 2
		}
	}
	at = append(at, len(encoded))
	escaped := make([]Edit, len(edits))
	for i, e := range edits {
		var fresh strings.Builder
		for j := range len(e.Text) {
			unit, ok := known[e.Text[j]]
			if !ok {
				unit = url.PathEscape(e.Text[j : j+1])
			}
			fresh.WriteString(unit)
		}
		escaped[i] = Edit{at[e.Start], at[e.End], fresh.String()}
	}
	return Splice(encoded, escaped)
}
