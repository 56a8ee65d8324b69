package run

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// NoExit is the exit code of a program that never started or died of a signal.
const NoExit = -1

// errorTail bounds how much output an error message quotes; Error.Output holds more.
const errorTail = 600

// Error says that a command failed. It carries no secret.
type Error struct {
	Argv     []string
	ExitCode int
	// Output is the end of what the program wrote, both streams in order of arrival.
	Output string
	Took   time.Duration
	// Err is the cause below: exec.ErrNotFound, a context error, an *exec.ExitError.
	Err error
}

// Error implements error.
func (e *Error) Error() string {
	what := fmt.Sprintf("exit code %d", e.ExitCode)
	if e.ExitCode == NoExit || errors.Is(e.Err, context.Canceled) || errors.Is(e.Err, context.DeadlineExceeded) {
		what = e.Err.Error()
	}
	msg := fmt.Sprintf("run %s: %s after %s", quoteArgv(e.Argv), what, e.Took.Round(time.Millisecond))
	if tail := strings.TrimSpace(lastBytes(e.Output, errorTail)); tail != "" {
		msg += ": " + tail
	}
	return msg
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// NotFound says whether err means that the program is not installed.
func NotFound(err error) bool { return errors.Is(err, exec.ErrNotFound) }

// ExitCode returns the exit code in err: 0 for nil, NoExit where there is none.
func ExitCode(err error) int {
	if err == nil {
		return 0
	}
	var e *Error
	if errors.As(err, &e) {
		return e.ExitCode
	}
	return NoExit
}

// quoteArgv renders argv so that it can be pasted into a shell.
func quoteArgv(argv []string) string {
	words := make([]string, len(argv))
	for i, w := range argv {
		if w == "" || strings.ContainsAny(w, " \t\n\"'\\$`*?;&|<>()") {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		words[i] = w
	}
	return strings.Join(words, " ")
}

func lastBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return "..." + s[len(s)-n:]
}
