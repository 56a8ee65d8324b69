package ipconfig

import (
	"log/slog"
	"regexp"
)

// secrets are the shapes under which keys and tokens turn up in logs and documents.
var secrets = []*regexp.Regexp{
	regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\z)`),
	regexp.MustCompile(`(?i)(bearer\s+)[A-Za-z0-9._~+/=-]{8,}`),
	regexp.MustCompile(`eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`),
	regexp.MustCompile(`(?i)("?(?:client-key-data|password|passwd|token|auth|identitytoken|secret)"?\s*[:=]\s*"?)[^\s",}]{4,}`),
}

// Redact blanks what looks like a key, a token or a password.
func Redact(data []byte) []byte {
	for i, re := range secrets {
		with := "${1}[redacted]"
		if i == 0 || i == 2 {
			with = "[redacted]"
		}
		data = re.ReplaceAll(data, []byte(with))
	}
	return data
}

func redactText(s string) string { return string(Redact([]byte(s))) }

// RedactAttr is a slog.HandlerOptions.ReplaceAttr that blanks secrets in texts and errors: the last line of defence, for
// what an error of somebody else's may quote.
func RedactAttr(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Any().(type) {
	case string:
		a.Value = slog.StringValue(redactText(v))
	case error:
		a.Value = slog.StringValue(redactText(v.Error()))
	}
	return a
}
