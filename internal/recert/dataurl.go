package recert

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

// mayHoldDataURL looks for the scheme by its colon: base64 has none, and every other letter. What a space, a quote or nothing follows is
// some field of that name.
func mayHoldDataURL(text string) bool {
	for i := indexColon(text, 0); i >= 0; i = indexColon(text, i+1) {
		if strings.HasSuffix(text[:i], "data") && strings.TrimLeft(text[i+1:min(i+2, len(text))], "\"' \t\n\f\r") != "" {
			return true
		}
	}
	return false
}

// dataURLs decodes the data URLs of a text; one that does not decode is left out.
func dataURLs(text string) []string {
	if !mayHoldDataURL(text) {
		return nil
	}
	var out []string
	for _, m := range dataURL.FindAllStringSubmatch(text, -1) {
		var content []byte
		if strings.HasSuffix(m[1], ";base64") {
			plain, err := base64.StdEncoding.DecodeString(m[2])
			if err != nil {
				continue
			}
			content = plain
		} else if plain, err := url.PathUnescape(m[2]); err == nil {
			content = []byte(plain)
		}
		out = append(out, string(inflate(content)))
	}
	return out
}

// editDataURLs edits the contents of a text's data URLs and encodes them as they were. Compressed contents stay: what they
// mention is reported (dataURLs), not changed.
func editDataURLs(text string, change func(string) string) string {
	var edits []splicing
	for _, at := range dataURL.FindAllStringSubmatchIndex(text, -1) {
		start, end := at[4], at[5]
		encoded, isBase64 := text[start:end], strings.HasSuffix(text[at[2]:at[3]], ";base64")
		plain, err := url.PathUnescape(encoded)
		if isBase64 {
			var content []byte
			content, err = base64.StdEncoding.DecodeString(encoded)
			plain = string(content)
		}
		if err != nil {
			continue
		}
		edited := change(plain)
		switch {
		case edited == plain:
		case isBase64:
			edits = append(edits, splicing{start, end, base64.StdEncoding.EncodeToString([]byte(edited))})
		default:
			edits = append(edits, splicing{start, end, reescape(encoded, edited)})
		}
	}
	return splice(text, edits)
}

func inflate(content []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return content
	}
	plain, err := io.ReadAll(io.LimitReader(r, maxInflated))
	if err != nil {
		return content
	}
	return plain
}
