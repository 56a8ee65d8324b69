package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// outputLimit bounds each captured stream; a program that writes more is at fault.
	outputLimit = 32 << 20
	// grace is what a process group gets between SIGTERM and SIGKILL.
	grace = 5 * time.Second
	// hostPath is the PATH of a program executed beneath a host root, where the
	// caller's own PATH means nothing.
	hostPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	// envNotFound is what env(1) exits with for a program that does not exist (POSIX).
	envNotFound = 127
)

var errOutput = fmt.Errorf("program wrote more than %d bytes", outputLimit)

// Options say where programs run and what observes them.
type Options struct {
	// Root is the host's root directory as this process sees it ("/host" in a pod); the
	// program runs chrooted there. Empty runs it where we are.
	Root string
	// Observe receives evidence of every command; nil drops it.
	Observe Observer
	// Grace overrides the time between SIGTERM and SIGKILL of a process group.
	Grace time.Duration
}

// Exec runs commands on this machine.
type Exec struct{ o Options }

// New returns a Runner that executes programs as the options say.
func New(o Options) *Exec {
	if o.Grace == 0 {
		o.Grace = grace
	}
	return &Exec{o: o}
}

// Run implements Runner.
func (x *Exec) Run(ctx context.Context, c Command) (Result, error) {
	if len(c.Argv) == 0 {
		return Result{}, errors.New("run: empty command")
	}
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	started := time.Now()
	out := &streams{tail: newTail(c.Secrets)}
	err := x.runCommand(ctx, c, out)
	res := Result{Stdout: out.stdout.Bytes(), Stderr: out.stderr.Bytes(), Took: time.Since(started)}
	ev := Evidence{Argv: blotArgv(c.Argv, c.Secrets), ExitCode: x.exitCode(err), Started: started, Took: res.Took}
	if !c.SecretOutput {
		ev.Output = out.tail.redactedText(c.Secrets)
	}
	if x.o.Observe != nil {
		x.o.Observe(ev)
	}
	if err == nil {
		return res, nil
	}
	return res, &Error{Argv: ev.Argv, ExitCode: ev.ExitCode, Output: ev.Output, Took: ev.Took, Err: x.failureCause(ctx, c.Argv[0], err)}
}

// streams collects what a program writes: each stream alone, and the tail of both.
type streams struct {
	stdout, stderr limited
	tail           *tail
}

// limited is a buffer that refuses to outgrow outputLimit.
type limited struct {
	bytes.Buffer
	over bool
}

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > outputLimit {
		l.over = true
		return 0, errOutput
	}
	return l.Buffer.Write(p)
}

func (x *Exec) runCommand(ctx context.Context, c Command, out *streams) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	cmd := x.buildCommand(ctx, c)
	cmd.Stdout = io.MultiWriter(out.tail, &out.stdout)
	cmd.Stderr = io.MultiWriter(out.tail, &out.stderr)
	if c.Stdin != nil {
		cmd.Stdin = bytes.NewReader(c.Stdin)
	}
	var hard *time.Timer
	cmd.Cancel = func() error {
		group := -cmd.Process.Pid
		hard = time.AfterFunc(x.o.Grace, func() { _ = syscall.Kill(group, syscall.SIGKILL) })
		return syscall.Kill(group, syscall.SIGTERM)
	}
	cmd.WaitDelay = x.o.Grace + time.Second
	err := cmd.Run()
	if hard != nil {
		hard.Stop()
		// What outlived its leader holds our pipes or our files: end it now.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	if out.stdout.over || out.stderr.over {
		return errOutput
	}
	return err
}

// buildCommand builds the process. Beneath a root env(1) of that root looks the program up,
// since a lookup from outside would search the wrong file system.
func (x *Exec) buildCommand(ctx context.Context, c Command) *exec.Cmd {
	argv := c.Argv
	attr := &syscall.SysProcAttr{Setpgid: true}
	env := append(os.Environ(), "LC_ALL=C.UTF-8")
	if x.o.Root != "" {
		argv = append([]string{"/usr/bin/env", "--"}, argv...)
		attr.Chroot = x.o.Root
		env = []string{hostPath, "LC_ALL=C.UTF-8", "HOME=/root"}
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.SysProcAttr = attr
	cmd.Env = append(env, c.Env...)
	cmd.Dir = c.Dir
	if x.o.Root != "" && c.Dir == "" {
		cmd.Dir = "/"
	}
	return cmd
}

// exitCode is the exit code in what execute returned.
func (x *Exec) exitCode(err error) int {
	if err == nil {
		return 0
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return exit.ExitCode()
	}
	return NoExit
}

// failureCause names why a command failed: the context that ended it, or "not found" where env(1) reported that.
func (x *Exec) failureCause(ctx context.Context, argv0 string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if x.isNotFound(argv0, err) {
		return fmt.Errorf("%w (%w)", exec.ErrNotFound, err)
	}
	return err
}

// isNotFound says that err means a missing program, directly or beneath a root. A missing working folder gives the same
// error, so the file itself is checked.
func (x *Exec) isNotFound(argv0 string, err error) bool {
	if x.o.Root != "" {
		return x.exitCode(err) == envNotFound
	}
	_, serr := os.Stat(argv0)
	return filepath.IsAbs(argv0) && errors.Is(err, os.ErrNotExist) && errors.Is(serr, os.ErrNotExist)
}
