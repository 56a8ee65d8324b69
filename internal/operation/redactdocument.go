package operation

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// secretValue finds, in a key file, YAML or JSON, a key whose name says that its value is a secret.
var secretValue = regexp.MustCompile(`(?i)["']?[\w.-]*(?:password|passwd|passphrase|psk|secret|token|credential|auth|` +
	`pin\b|wep-key\d|mka-cak|private-?key|key-data|leap)[\w.-]*["']?` +
	`\s*[:=]\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\s,}{][^\r\n,}]*))`)

// LearnDocument learns the secrets of a document that holds other things too, such as a connection of NetworkManager, the configuration
// of a site or a kubeconfig, so that they are blanked wherever a log quotes them.
func (r *Redactor) LearnDocument(data []byte) {
	r.learnValues(data)
	slices.SortFunc(r.known, func(a, b []byte) int { return len(b) - len(a) })
}

// learnValues learns what secret keys have, and what such keys inside of that have: a pull secret is a document in a document.
func (r *Redactor) learnValues(data []byte) {
	for _, m := range secretValue.FindAllSubmatch(data, -1) {
		for _, value := range m[1:] {
			r.addSecret(strings.TrimSpace(string(value)))
			if inner := bytes.ReplaceAll(value, []byte(`\"`), []byte(`"`)); len(inner) < len(data) && bytes.ContainsAny(inner, ":=") {
				r.learnValues(inner)
			}
		}
	}
}

// LearnSecret learns a file that is nothing but a secret, such as a password or a key, line by line.
func (r *Redactor) LearnSecret(data []byte) {
	r.learnLines(string(data))
	slices.SortFunc(r.known, func(a, b []byte) int { return len(b) - len(a) })
}
