package operation

import (
	"bytes"
	"log/slog"
	"regexp"
	"strings"
)

var redacted = []byte("[redacted]")

// shape is how a secret looks; what it is replaced with keeps the words around it.
type shape struct {
	re   *regexp.Regexp
	with string
	// needs stands in every match; a text without it is not searched, which takes a hundred times as long.
	needs string
}

// shapes of keys, tokens and passwords in logs and documents. Where a text begins inside a key, the END line behind
// it identifies the key's last line, and the length identifies the others.
var shapes = []shape{
	{regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\z)`),
		"[redacted]", "PRIVATE KEY-----"},
	{regexp.MustCompile(`[A-Za-z0-9+/]+={0,2}\s*(?:(?:\\n|[\n;])[^\n]{0,120}?)?-----END [A-Z ]*PRIVATE KEY-----`),
		"[redacted]", "PRIVATE KEY-----"},
	{regexp.MustCompile(`(?i)((?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}`), "${1}[redacted]", ""},
	{regexp.MustCompile(`eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`), "[redacted]", "eyJ"},
	{regexp.MustCompile(`sha256~[A-Za-z0-9_-]{16,}`), "[redacted]", "sha256~"},
	{regexp.MustCompile(`\$(?:2[aby]|5|6|y)\$[A-Za-z0-9./$=,]{20,}`), "[redacted]", "$"},
	{regexp.MustCompile(`([a-z][a-z0-9+.-]*://[^\s:/@"]+:)[^\s/@"]+@`), "${1}[redacted]@", "://"},
	{regexp.MustCompile(`(?i)ipv6\.token|((?:client-key-data|password|passwd|passphrase|psk|token|auth|identitytoken|secret|credentials?|` +
		`private-?key)\\?"?\s*[:=]\s*\\?"?)[^\s"\\,}]{4,}`), "${1}[redacted]", ""},
}

// publicName has a word for secrets in it and is none: half of an IPv6 address, of which NetworkManager's errors speak. The shape of
// passwords takes it first, so that what follows is left alone.
const publicName = "ipv6.token"

// minBlob is how long a run of base64 is as keys are wrapped and secrets encoded. Digests, which are hexadecimal, and paths
// have the same letters and are no secret.
const minBlob = 60

// Names of a path: a digest; a word in small letters; words written together with capitals. Base64 mixes the three: of a key,
// as long as a blob is, no piece between two slashes is one by chance.
var (
	hexName   = regexp.MustCompile(`^[0-9a-f]*$`)
	plainName = regexp.MustCompile(`^(?:[0-9a-z]+|(?:[A-Z]?[a-z]{2,})+[0-9]{0,2})$`)
)

// longestWord is how long a name in a path may be without being taken for half a key.
const longestWord = 32

// isPath says that the run is a digest, or a path or a part of one, such as what follows the last dash of
// /ostree/deploy/rhcos_ipc-20260102-030405-beef/deploy/CHECKSUM.
func isPath(run []byte) bool {
	for name := range bytes.SplitSeq(run, []byte("/")) {
		if !hexName.Match(name) && (len(name) > longestWord || !plainName.Match(name)) {
			return false
		}
	}
	return true
}

// Redact blanks what looks like a key, a token or a password.
func Redact(data []byte) []byte {
	for _, s := range shapes {
		if bytes.Contains(data, []byte(s.needs)) {
			data = s.re.ReplaceAllFunc(data, func(found []byte) []byte {
				if strings.EqualFold(string(found), publicName) {
					return found
				}
				return s.re.ReplaceAll(found, []byte(s.with))
			})
		}
	}
	return redactBlobs(data)
}

// redactBlobs blanks runs of base64 with what fills their end up. The same with a regular expression takes most of the time
// of Redact.
func redactBlobs(data []byte) []byte {
	out := make([]byte, 0, len(data))
	for at := 0; at < len(data); {
		end := at
		for end < len(data) && isBase64(data[end]) {
			end++
		}
		if end == at {
			out = append(out, data[at])
			at++
			continue
		}
		long := end-at >= minBlob
		for filled := 0; long && filled < 2 && end < len(data) && data[end] == '='; filled++ {
			end++
		}
		if run := data[at:end]; long && !isPath(run) {
			out = append(out, redacted...)
		} else {
			out = append(out, run...)
		}
		at = end
	}
	return out
}

func isBase64(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '+' || c == '/'
}

// RedactText is Redact for a text.
func RedactText(s string) string { return string(Redact([]byte(s))) }

// RedactAttr is a slog.HandlerOptions.ReplaceAttr that blanks secrets in texts and errors: the last line of defence
// against errors of libraries that quote their input.
func RedactAttr(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Any().(type) {
	case string:
		a.Value = slog.StringValue(RedactText(v))
	case error:
		a.Value = slog.StringValue(RedactText(v.Error()))
	}
	return a
}
