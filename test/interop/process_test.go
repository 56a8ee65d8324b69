//go:build interop

package interop

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// stopTimeout is how long a program may take to end before it is killed.
	stopTimeout = 30 * time.Second
	// lastOutput is how many bytes of a program's output are shown where the test fails.
	lastOutput = 6000
)

// environment is what a program is given beside the environment of the test.
type environment map[string]string

// process is a program that runs until it is stopped, or the test ends.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	log   string
	ended chan struct{}
}

// launch starts a program; the end of its output is shown where the test fails.
func launch(t *testing.T, env environment, argv ...string) *process {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	p := &process{t: t, cmd: exec.Command(argv[0], argv[1:]...), log: log.Name(), ended: make(chan struct{})}
	p.cmd.Env = os.Environ()
	for name, value := range env {
		p.cmd.Env = append(p.cmd.Env, name+"="+value)
	}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	require.NoError(t, p.cmd.Start(), "start %v", argv)
	require.NoError(t, log.Close())
	go func() { _ = p.cmd.Wait(); close(p.ended) }()
	t.Cleanup(func() {
		p.stop()
		if text := p.output(); t.Failed() {
			t.Logf("%s:\n%s", p, text[max(0, len(text)-lastOutput):])
		}
	})
	return p
}

// launchAndWait runs a program to its end.
func launchAndWait(t *testing.T, argv ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput()
	require.NoError(t, err, "%v: %s", argv, out[max(0, len(out)-lastOutput):])
}

// String names the program, which is the last that the command line starts.
func (p *process) String() string {
	program := filepath.Base(p.cmd.Args[0])
	for _, arg := range p.cmd.Args {
		if filepath.IsAbs(arg) {
			program = filepath.Base(arg)
		}
	}
	return program
}

// stop returns when the program has ended.
func (p *process) stop() {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); errors.Is(err, os.ErrProcessDone) {
		<-p.ended
		return
	}
	select {
	case <-p.ended:
	case <-time.After(stopTimeout):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// kill ends the program at once, and what it has started in a namespace of its own.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// await waits for a condition, which may end the test.
func await(t *testing.T, condition func() bool, format string, args ...any) {
	t.Helper()
	ticker := time.NewTicker(4 * tick)
	defer ticker.Stop()
	for end := time.Now().Add(deadline); !condition(); <-ticker.C {
		require.True(t, time.Now().Before(end), "not in time: %s", fmt.Sprintf(format, args...))
	}
}

// output is what the program has written so far.
func (p *process) output() string {
	text, err := os.ReadFile(p.log)
	require.NoError(p.t, err)
	return string(text)
}

// running fails the test when the program has ended.
func (p *process) running() {
	p.t.Helper()
	select {
	case <-p.ended:
		p.t.Fatalf("%s has ended: %v", p, p.cmd.ProcessState)
	default:
	}
}
