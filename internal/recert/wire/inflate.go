package wire

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
)

// What a compressed file may unpack to, and how often it may be compressed.
const (
	maxInflated = 4 << 20
	maxLayers   = 4
)

// gzipMagic begins a member of a gzip file with the only method there is (RFC 1952 2.3.1).
const gzipMagic = "\x1f\x8b\x08"

// inflateLayers unpacks a content layer by layer. The reason says why it ended early; the content is then what it had come to.
func inflateLayers(content string) (plain, reason string) {
	for range maxLayers {
		if !strings.HasPrefix(content, gzipMagic) {
			return content, ""
		}
		unpacked, reason := inflateOnce(content)
		if reason != "" {
			return content, reason
		}
		content = unpacked
	}
	if strings.HasPrefix(content, gzipMagic) {
		return content, fmt.Sprintf("is compressed more than %d times", maxLayers)
	}
	return content, ""
}

func inflateOnce(content string) (plain, reason string) {
	r, err := gzip.NewReader(strings.NewReader(content))
	if err != nil {
		return "", "cannot be unpacked: " + err.Error()
	}
	var out bytes.Buffer
	switch n, err := io.Copy(&out, io.LimitReader(r, maxInflated+1)); {
	case err != nil:
		return "", "cannot be unpacked: " + err.Error()
	case n > maxInflated:
		return "", fmt.Sprintf("unpacks to more than %d MiB", maxInflated>>20)
	}
	return out.String(), ""
}

// Inflate unpacks one layer of a compressed content; not ok is one that is not compressed, or cannot be unpacked.
func Inflate(content string) (plain string, ok bool) {
	if !strings.HasPrefix(content, gzipMagic) {
		return content, false
	}
	plain, reason := inflateOnce(content)
	return plain, reason == ""
}

// Deflate compresses a content. The same content gives the same bytes.
func Deflate(plain string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := io.WriteString(w, plain); err != nil {
		panic("compress into memory: " + err.Error()) // a buffer takes all
	}
	if err := w.Close(); err != nil {
		panic("compress into memory: " + err.Error())
	}
	return out.String()
}

// IsCompressed reports whether a content begins as a compressed one does.
func IsCompressed(content string) bool { return strings.HasPrefix(content, gzipMagic) }
