package operation

import (
	"bytes"
	"log/slog"
	"regexp"
)

var redacted = []byte("[redacted]")

// shape is how a secret looks; what it is replaced with keeps the words around it.
type shape struct {
	re   *regexp.Regexp
	with string
}

// shapes of keys, tokens and passwords in logs and documents. Where a text begins inside a key, the END line behind
// it identifies the key's last line, and the length identifies the others.
var shapes = []shape{
	{regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\z)`), "[redacted]"},
	{regexp.MustCompile(`[A-Za-z0-9+/]+={0,2}\s*(?:(?:\\n|[\n;])[^\n]{0,120}?)?-----END [A-Z ]*PRIVATE KEY-----`), "[redacted]"},
	{regexp.MustCompile(`(?i)((?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}`), "${1}[redacted]"},
	{regexp.MustCompile(`eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`), "[redacted]"},
	{regexp.MustCompile(`sha256~[A-Za-z0-9_-]{16,}`), "[redacted]"},
	{regexp.MustCompile(`\$(?:2[aby]|5|6|y)\$[A-Za-z0-9./$=,]{20,}`), "[redacted]"},
	{regexp.MustCompile(`([a-z][a-z0-9+.-]*://[^\s:/@"]+:)[^\s/@"]+@`), "${1}[redacted]@"},
	{regexp.MustCompile(`(?i)([\w.-]*(?:client-key-data|password|passwd|passphrase|psk|token|auth|identitytoken|secret|credentials?|` +
		`private-?key)\\?"?\s*[:=]\s*\\?"?)[^\s"\\,}]{4,}`), "${1}[redacted]"},
}

// publicName begins what has a word for secrets in its name and is none: half of an IPv6 address, of which NetworkManager's errors speak.
var publicName = regexp.MustCompile(`^ipv6\.token\b`)

// blob is a run of base64 as keys are wrapped and secrets encoded. Digests, which are hexadecimal, and paths have
// the same letters and are no secret.
var blob = regexp.MustCompile(`[A-Za-z0-9+/]{60,}={0,2}`)

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
		data = s.re.ReplaceAllFunc(data, func(found []byte) []byte {
			if publicName.Match(found) {
				return found
			}
			return s.re.ReplaceAll(found, []byte(s.with))
		})
	}
	return blob.ReplaceAllFunc(data, func(b []byte) []byte {
		if isPath(b) {
			return b
		}
		return redacted
	})
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
