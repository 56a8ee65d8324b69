package wire

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
)

// dataURL is how Ignition carries the contents of files (RFC 2397).
var dataURL = regexp.MustCompile(`data:([^,"'\s]*),([^"'\s]*)`)

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

// DataURL is what a data URL carries, unpacked.
type DataURL struct {
	Content    string
	Compressed bool
	// Unread says why it could not be looked into, or not to the end.
	Unread string
}

// DataURLs decodes and unpacks the data URLs of a text.
func DataURLs(text string) []DataURL {
	if !MayHoldDataURL(text) {
		return nil
	}
	var out []DataURL
	for _, m := range dataURL.FindAllStringSubmatch(text, -1) {
		plain, _, err := decodeDataURL(m[1], m[2])
		if err != nil {
			out = append(out, DataURL{Unread: "a data URL " + err.Error()})
			continue
		}
		carried := DataURL{Compressed: strings.HasPrefix(plain, gzipMagic)}
		if carried.Content, carried.Unread = inflateLayers(plain); carried.Unread != "" {
			carried.Unread = "the content of a data URL " + carried.Unread
		}
		out = append(out, carried)
	}
	return out
}

// rewriter puts edits of the decoded text into the encoded one.
type rewriter func(plain string, edits []Edit) string

// decodeDataURL decodes the contents of a data URL of that type.
func decodeDataURL(mediaType, contents string) (plain string, write rewriter, err error) {
	if !strings.HasSuffix(mediaType, ";base64") {
		if plain, err = url.PathUnescape(contents); err != nil {
			return "", nil, errors.New("is not percent-encoded as it should be")
		}
		return plain, func(_ string, edits []Edit) string { return editEscaped(contents, edits) }, nil
	}
	plain, form, ok := decodeBase64(contents)
	if !ok {
		return "", nil, errors.New("is not base64")
	}
	return plain, func(plain string, edits []Edit) string { return form.encodeAlike(Splice(plain, edits)) }, nil
}

// EditDataURLs edits the contents of a text's data URLs and encodes them as they were. Compressed contents are edited as they are:
// what they mention is reported (DataURLs), not changed.
func EditDataURLs(text string, change func(content string) []Edit) string {
	var edits []Edit
	for _, at := range dataURL.FindAllStringSubmatchIndex(text, -1) {
		start, end := at[4], at[5]
		plain, write, err := decodeDataURL(text[at[2]:at[3]], text[start:end])
		if err != nil {
			continue
		}
		if changes := change(plain); len(changes) > 0 {
			edits = append(edits, Edit{start, end, write(plain, changes)})
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
