package run

import (
	"regexp"
	"strings"
	"sync"
)

// tailSize bounds the output kept as evidence.
const tailSize = 4 << 10

const blot = "[redacted]"

// knownSecrets are shapes that are blotted out even where the caller named no secret:
// private keys, bearer tokens, registry credentials. A key whose begin or end
// lies outside the kept tail is caught too.
var knownSecrets = []*regexp.Regexp{
	regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|$)`),
	regexp.MustCompile(`(?s)^[A-Za-z0-9+/=\s]+-----END [A-Z ]*PRIVATE KEY-----`),
	regexp.MustCompile(`(?i)(bearer\s+)[A-Za-z0-9._~+/=-]{8,}`),
	regexp.MustCompile(`("auth"\s*:\s*")[^"]*`),
}

// tail keeps the last bytes of both output streams. It holds enough more than tailSize
// that a secret cut by the window's edge is still recognised whole.
type tail struct {
	mu    sync.Mutex
	keep  int
	buf   []byte
	total int
}

func newTail(secrets []string) *tail {
	longest := 0
	for _, s := range secrets {
		longest = max(longest, len(s))
	}
	return &tail{keep: tailSize + longest}
}

// Write implements io.Writer and never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total += len(p)
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - t.keep; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

// redactedText is the recorded tail without secrets. Secrets are first overwritten in place, so
// that cutting to tailSize drops exactly the bytes that could be half a secret.
func (t *tail) redactedText(secrets []string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := string(t.buf)
	for _, secret := range secrets {
		if secret != "" {
			s = strings.ReplaceAll(s, secret, strings.Repeat(mark, len(secret)))
		}
	}
	if len(s) > tailSize {
		s = s[len(s)-tailSize:]
	}
	return blotShapes(marks.ReplaceAllLiteralString(s, blot))
}

// mark is a byte no text holds (ASCII SUB); a run of it stands for one secret.
const mark = "\x1a"

var marks = regexp.MustCompile(mark + "+")

func blotShapes(s string) string {
	for _, re := range knownSecrets {
		s = re.ReplaceAllStringFunc(s, func(m string) string {
			sub := re.FindStringSubmatch(m)
			if len(sub) > 1 && strings.HasPrefix(m, sub[1]) {
				return sub[1] + blot
			}
			return blot
		})
	}
	return strings.ToValidUTF8(s, "?")
}

// blotArgv copies argv without secrets.
func blotArgv(argv, secrets []string) []string {
	out := make([]string, len(argv))
	for i, w := range argv {
		for _, secret := range secrets {
			if secret != "" {
				w = strings.ReplaceAll(w, secret, blot)
			}
		}
		out[i] = blotShapes(w)
	}
	return out
}
