package lab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
)

const (
	// lastWordsWithin bounds each question to a node that may be stuck.
	lastWordsWithin = 20 * time.Second
	lastLines       = 60
)

// LastWords is what a person wants to see of a node that did not do what was expected of it, stuck or dead ones included:
// its power and its processes, the end of its console and of its supervisor's log, and the end of each stateroot's journal.
// Called when a scenario has failed, before the node goes.
func (l *Lab) LastWords(ctx context.Context) string {
	var text strings.Builder
	part := func(title, body string) { fmt.Fprintf(&text, "--- %s\n%s\n", title, strings.TrimRight(body, "\n")) }

	state, err := l.Machine.State(ctx)
	part("power", fmt.Sprintf("%+v, error: %v", state, err))
	part("jobs that wait in the node", l.ask(ctx, "systemctl", "list-jobs", "--no-pager"))
	part("processes in the node", l.ask(ctx, "ps", "axo", "pid,ppid,stat,wchan:24,etimes,args", "--width", "160"))
	part("journal of this boot", l.ask(ctx, "journalctl", "--no-pager", "--boot", "--output=short-monotonic", fmt.Sprint("--lines=", lastLines)))
	part("console", endOf(l.Machine.ConsoleLog()))
	if l.Kind == machine.Nspawn {
		part("supervisor", endOf(filepath.Join(l.Dir, "supervisor.log")))
		for _, dir := range l.journals() {
			part("journal "+dir, journalIn(ctx, dir))
		}
	}
	return text.String()
}

func (l *Lab) ask(ctx context.Context, argv ...string) string {
	ctx, cancel := context.WithTimeout(ctx, lastWordsWithin)
	defer cancel()
	result, err := l.Machine.Exec(ctx, machine.Command{Argv: argv})
	if err != nil {
		return fmt.Sprintf("no answer: %v", err)
	}
	return result.Stdout + result.Stderr
}

// journals are the journal directories of all stateroots, which the build host can read while a container's node cannot.
func (l *Lab) journals() []string {
	found, _ := filepath.Glob(filepath.Join(l.Dir, "sysroot/ostree/deploy/*/var/log/journal/*")) // the pattern is well-formed
	return found
}

func journalIn(ctx context.Context, dir string) string {
	ctx, cancel := context.WithTimeout(ctx, lastWordsWithin)
	defer cancel()
	out, err := exec.CommandContext(ctx, "journalctl", "--directory="+dir, "--no-pager", "--quiet", fmt.Sprint("--lines=", lastLines)).CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%s(%v)", out, err)
	}
	return string(out)
}

// endOf is the last lines of a text file, or why it cannot be read.
func endOf(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-lastLines):], "\n")
}
