package siteconfig

import (
	"fmt"
	"log/slog"
)

// Secret is text that must not be shown. Printing or logging it, by whatever verb, yields a placeholder; encoding it
// as JSON or YAML yields the text, because a configuration is delivered that way.
type Secret string

const hidden = "[hidden]"

// Reveal is the text.
func (s Secret) Reveal() string { return string(s) }

// Format implements fmt.Formatter for every verb.
func (s Secret) Format(f fmt.State, _ rune) {
	if s != "" {
		_, _ = f.Write([]byte(hidden)) // as with any Formatter, fmt keeps the error
	}
}

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value {
	if s == "" {
		return slog.StringValue("")
	}
	return slog.StringValue(hidden)
}
