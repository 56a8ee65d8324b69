package etcd

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
)

// tail keeps of etcd's output what an error message needs: why it gave up, or else the end.
type tail struct {
	mu   sync.Mutex
	buf  []byte
	line []byte // the last one, as far as it was written
	// cause is the first line that says why etcd gave up. A stack trace follows it, which is longer than buf.
	cause string
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - tailSize; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	for rest := p; ; {
		line, more, ended := bytes.Cut(rest, []byte("\n"))
		t.line = append(t.line, line...)
		if !ended {
			return len(p), nil
		}
		if t.cause == "" {
			t.cause = causeIn(t.line)
		}
		t.line, rest = t.line[:0], more
	}
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cause != "" {
		return t.cause
	}
	return string(bytes.TrimSpace(t.buf))
}

// causeIn is the reason in a line of etcd's log, or of the Go runtime, that it ended for; empty for any other line.
func causeIn(line []byte) string {
	if text, found := strings.CutPrefix(string(line), "panic: "); found {
		return clipCause(text)
	}
	var entry struct {
		Level string `json:"level"`
		Msg   string `json:"msg"`
		Error string `json:"error"`
	}
	if json.Unmarshal(line, &entry) != nil || entry.Level != "fatal" && entry.Level != "panic" {
		return ""
	}
	if entry.Error == "" {
		return clipCause(entry.Msg)
	}
	return clipCause(entry.Msg + ": " + entry.Error)
}

// causeSize bounds a cause, in bytes.
const causeSize = 512

func clipCause(text string) string { return strings.ToValidUTF8(text[:min(len(text), causeSize)], "") }
