package operation

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Secrets are the files of an operation whose content must not show.
type Secrets struct {
	// KeyDir is a folder of private keys; its certificates, *.crt, are public.
	KeyDir string
	// Credentials are dockerconfigjson files.
	Credentials []string
}

// Redactor blanks the secrets of one node wherever they stand, besides what looks like one.
type Redactor struct {
	known [][]byte
}

// shortestSecret is blanked wherever it stands; shorter words are too common.
const shortestSecret = 6

// NewRedactor learns the secrets from their files. It skips files that cannot be read.
func NewRedactor(files host.Files, s Secrets) Redactor {
	var r Redactor
	names, _ := files.List(s.KeyDir)
	for _, name := range names {
		if data, err := files.Read(path.Join(s.KeyDir, name)); err == nil && !strings.HasSuffix(name, ".crt") {
			r.learnLines(string(data))
		}
	}
	for _, file := range s.Credentials {
		if data, err := files.Read(file); err == nil {
			r.learnCredentials(data)
		}
	}
	slices.SortFunc(r.known, func(a, b []byte) int { return len(b) - len(a) })
	return r
}

func (r *Redactor) addSecret(secret string) {
	if len(secret) >= shortestSecret {
		r.known = append(r.known, []byte(secret))
	}
}

// learnLines learns a key line by line, as logs may quote it.
func (r *Redactor) learnLines(key string) {
	for line := range strings.Lines(key) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "-----") {
			r.addSecret(line)
		}
	}
}

// learnCredentials learns what a dockerconfigjson holds: auths, and the passwords in them.
func (r *Redactor) learnCredentials(config []byte) {
	var file struct {
		Auths map[string]map[string]any `json:"auths"`
	}
	if json.Unmarshal(config, &file) != nil {
		return
	}
	for _, entry := range file.Auths {
		for _, key := range []string{"auth", "password", "identitytoken", "registrytoken"} {
			secret, _ := entry[key].(string)
			r.addSecret(secret)
			if plain, err := base64.StdEncoding.DecodeString(secret); err == nil && key == "auth" {
				_, password, _ := strings.Cut(string(plain), ":")
				r.addSecret(password)
			}
		}
	}
}

// Redact returns data without secrets.
func (r Redactor) Redact(data []byte) []byte {
	for _, secret := range r.known {
		data = bytes.ReplaceAll(data, secret, redacted)
	}
	return Redact(data)
}

// Text is Redact for a text.
func (r Redactor) Text(s string) string { return string(r.Redact([]byte(s))) }
