package crashtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const (
	// rootVar tells the traced copy of a test where its files are.
	rootVar = "CRASHTEST_ROOT"
	// The traced process marks where the change begins and ends by looking for files of these names.
	markBegin = "/crashtest/begin"
	markEnd   = "/crashtest/end"
)

// Trace is a recorded change.
type Trace struct{ h *history }

// Record runs act on the files that before has made below root, in a process of its own, and records it. That
// process is another run of the calling test, so that a test (or subtest) calls Record once and depends on
// nothing that differs between runs. What before leaves is taken to be durable.
func Record(t *testing.T, before, act func(root string) error) *Trace {
	t.Helper()
	if root := os.Getenv(rootVar); root != "" {
		actTraced(root, act)
	}
	root := t.TempDir()
	require.NoError(t, before(root), "prepare the files")
	r, err := newRecorder(root)
	require.NoError(t, err)
	out, code, err := r.traceTest(t.Name())
	if errors.Is(err, errNotPermitted) {
		t.Skipf("reason: %v", err)
	}
	require.NoError(t, err)
	require.Zero(t, code, "the recorded change failed: %s", out)
	require.True(t, r.ended, "the recorded process did not run the change: %s", out)
	return &Trace{r.history}
}

// actTraced is the other process: it ends here.
func actTraced(root string, act func(string) error) {
	emitMark(markBegin)
	err := act(root)
	emitMark(markEnd)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	os.Exit(0)
}

func emitMark(name string) {
	_ = unix.Faccessat(unix.AT_FDCWD, name, 0, 0) // the file does not exist: the call itself is the mark
}

// recorder turns system calls into a history.
type recorder struct {
	root         string
	history      *history
	begun, ended bool
	syncing      map[int]map[int]int // thread in a flush -> node -> version at its entry
}

func newRecorder(root string) (*recorder, error) {
	s, err := takeSnapshot(root)
	if err != nil {
		return nil, fmt.Errorf("read the prepared files: %w", err)
	}
	return &recorder{root: root, history: newHistory(s), syncing: map[int]map[int]int{}}, nil
}

func (r *recorder) traceTest(test string) (output string, code int, err error) {
	pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(test), "/", "$/^") + "$"
	cmd := exec.Command(os.Args[0], "-test.run", pattern, "-test.count=1")
	cmd.Env = append(os.Environ(), rootVar+"="+r.root)
	file, err := os.CreateTemp("", "crashtest")
	if err != nil {
		return "", 0, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	cmd.Stdout, cmd.Stderr = file, file
	tr := tracer{onEntry: r.handleEntry, onExit: r.handleExit}
	if code, err = tr.traceCommand(cmd); err != nil {
		return "", code, err
	}
	text, err := os.ReadFile(file.Name())
	return string(text), code, err
}

func (r *recorder) handleEntry(tid int, call syscallInfo) error {
	if call.number() == unix.SYS_FACCESSAT {
		return r.handleMark(peekString(tid, call.arg(1)))
	}
	if !r.begun || r.ended || !isFlush(call.number()) {
		return nil
	}
	if err := r.recordChanges(callName(call.number())); err != nil {
		return err
	}
	r.syncing[tid] = r.flushedVersions(tid, call)
	return nil
}

func (r *recorder) handleMark(name string) error {
	switch name {
	case markBegin:
		r.begun = true
		r.history.addCut("nothing yet", false)
	case markEnd:
		if err := r.recordChanges("the last call"); err != nil {
			return err
		}
		r.ended = true
		r.history.addCut("the end of the change", true)
	}
	return nil
}

// flushedVersions is what a flush that begins now makes durable.
func (r *recorder) flushedVersions(tid int, call syscallInfo) map[int]int {
	all := r.history.newestVersions()
	if n := call.number(); n == unix.SYS_SYNCFS || n == unix.SYS_SYNC {
		return all
	}
	var st unix.Stat_t
	if err := unix.Stat(fmt.Sprintf("/proc/%d/fd/%d", tid, int32(call.arg(0))), &st); err != nil {
		return nil // the call will fail as well
	}
	id, known := r.history.ids[st.Ino]
	if !known {
		return nil
	}
	return map[int]int{id: all[id]}
}

func (r *recorder) handleExit(tid int, call syscallInfo) error {
	if !r.begun || r.ended {
		return nil
	}
	if isFlush(call.number()) {
		r.history.flushAll(r.syncing[tid])
		r.history.addCut(callName(call.number()), false)
		return nil
	}
	if callName(call.number()) == "" {
		return nil
	}
	return r.recordChanges(callName(call.number()))
}

func (r *recorder) recordChanges(after string) error {
	s, err := takeSnapshot(r.root)
	if err != nil {
		return fmt.Errorf("read the files after %s: %w", after, err)
	}
	if r.history.addVersions(s) {
		r.history.addCut(after, false)
	}
	return nil
}

// Check calls holds with every state that may be found after a power cut at any moment of the change, and fails
// the test at the first state that it refuses. Finished says that the change had returned before the cut.
func (tr *Trace) Check(t *testing.T, holds func(s State, finished bool) error) {
	t.Helper()
	states, err := tr.checkStates(holds)
	require.NoError(t, err)
	t.Logf("survived a power cut at %d moments, in %d states of the disk", len(tr.h.cuts), states)
}

func (tr *Trace) checkStates(holds func(s State, finished bool) error) (states int, err error) {
	for i, c := range tr.h.cuts {
		err := tr.h.eachState(c, func(s State) error {
			states++
			return holds(s, c.finished)
		})
		if err != nil {
			return states, fmt.Errorf("a power cut at moment %d of %d, after %s: %w", i+1, len(tr.h.cuts), c.after, err)
		}
	}
	return states, nil
}
