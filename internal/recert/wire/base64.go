package wire

import (
	"encoding/base64"
	"net/url"
	"strings"
)

// digits64 is how a text writes base64 (RFC 4648 4 and 5), so that it is written so again.
type digits64 struct {
	alphabet *base64.Encoding
	// escaped: as a URL, digits with a meaning of their own are percent-encoded.
	escaped bool
}

// decodeBase64 decodes base64 in either alphabet, padded or not. The usual one comes first: where both fit, they say the same.
func decodeBase64(text string) (plain string, form digits64, ok bool) {
	if strings.IndexByte(text, '%') >= 0 {
		unescaped, err := url.PathUnescape(text)
		if err != nil {
			return "", form, false
		}
		text, form.escaped = unescaped, true
	}
	for _, form.alphabet = range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if content, err := form.alphabet.DecodeString(text); err == nil {
			return string(content), form, true
		}
	}
	return "", form, false
}

func (d digits64) encodeAlike(plain string) string {
	text := d.alphabet.EncodeToString([]byte(plain))
	if d.escaped {
		return url.QueryEscape(text)
	}
	return text
}
