package machine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/lab/network"
)

const (
	pollEvery   = 50 * time.Millisecond
	startWithin = 15 * time.Second
)

// Container is the Nspawn machine. Its file system is Dir/sysroot. While it is on, a supervisor process (see Supervise) runs
// in the background and holds a lock; the fields must therefore be the same in every program that uses the machine.
type Container struct {
	Name string
	Dir  string // run-time files: sysroot/, console.log, supervisor.log
	Net  network.Network
	// Supervisor is the command line that runs Supervise for this machine in a process of its own.
	Supervisor []string
}

// ConsoleLog implements Machine.
func (c Container) ConsoleLog() string { return filepath.Join(c.Dir, "console.log") }

// lastSaid is the end of the supervisor's log and of the console, which go with the machine.
func (c Container) lastSaid() string {
	const size = 1 << 10
	var said []string
	for _, file := range []string{c.supervisorLog(), c.ConsoleLog()} {
		text, err := os.ReadFile(file)
		if err != nil {
			text = []byte(err.Error())
		}
		said = append(said, strings.TrimSpace(string(text[max(len(text)-size, 0):])))
	}
	return strings.Join(said, "\n")
}

// errStopped: a machine ended before its first process ran. Of some hundred starts beside others one did.
var errStopped = errors.New("the machine stopped at once")

// Start implements Machine. A machine that stops at once is started once more; its supervisor's log tells of both.
func (c Container) Start(ctx context.Context) error {
	if c.on() {
		return nil
	}
	first := c.start(ctx)
	if !errors.Is(first, errStopped) {
		return first
	}
	if err := c.waitOff(ctx); err != nil {
		return err
	}
	if err := c.start(ctx); err != nil {
		return fmt.Errorf("%w; the time before: %w", err, first)
	}
	return nil
}

func (c Container) start(ctx context.Context) error {
	log, err := os.OpenFile(c.supervisorLog(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("power on: %w", err)
	}
	defer log.Close()
	argv := c.supervisor()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("power on: %w", err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for c.init() == 0 {
		select {
		case <-ended:
			return fmt.Errorf("power on: %w: %s", errStopped, c.lastSaid())
		case <-ctx.Done():
			return fmt.Errorf("power on: nothing runs yet, see %s: %w", c.supervisorLog(), ctx.Err())
		case <-time.After(pollEvery):
		}
	}
	return nil
}

// supervisor is the command line of the background process. Where systemd runs the host, the container needs a control group
// that systemd has handed over, so the supervisor runs as a transient unit with delegation.
func (c Container) supervisor() []string {
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		return c.Supervisor
	}
	return append([]string{"systemd-run", "--quiet", "--pipe", "--wait", "--collect", "--same-dir", "--unit=lab-" + c.Name,
		"--property=Delegate=yes", "--"}, c.Supervisor...)
}

// Stop implements Machine.
func (c Container) Stop(ctx context.Context) error {
	if !c.on() {
		return nil
	}
	// The answer may get lost when the node is quick to go down; what counts is that it is off in the end.
	if _, err := c.Exec(ctx, Command{Argv: []string{"systemctl", "poweroff", "--no-block"}}); err != nil && !errors.Is(err, ErrOff) {
		return err
	}
	return c.waitOff(ctx)
}

// PowerCut implements Machine. The container's first process is killed, and with it all others; killing nspawn instead
// would leave them running.
func (c Container) PowerCut(ctx context.Context) error {
	for c.on() {
		pid := c.init()
		if pid > 0 {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("power cut: %w", err)
			}
			return c.waitOff(ctx)
		}
		select { // between two boots: there will be one in a moment, or the supervisor ends
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollEvery):
		}
	}
	return nil
}

func (c Container) waitOff(ctx context.Context) error {
	for c.on() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until the machine is off: %w", ctx.Err())
		case <-time.After(pollEvery):
		}
	}
	return nil
}

// Exec implements Machine.
func (c Container) Exec(ctx context.Context, command Command) (Result, error) {
	cmd, err := c.Enter(ctx, command.Argv...)
	if err != nil {
		return Result{}, err
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = command.Stdin, &stdout, &stderr
	err = cmd.Run()
	result := Result{Stdout: stdout.String(), Stderr: stderr.String(), ExitCode: cmd.ProcessState.ExitCode()}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return result, nil
	case ctx.Err() != nil:
		return result, ctx.Err()
	case errors.As(err, &exit) && result.ExitCode >= 0 && c.init() > 0:
		return result, nil
	case errors.As(err, &exit):
		return result, fmt.Errorf("%s: the machine went down meanwhile: %w", command.Argv[0], ErrOff)
	}
	return result, fmt.Errorf("run %s in the node: %w", command.Argv[0], err)
}

// Enter returns a command that runs a program in all namespaces of the container, for the caller to connect and run.
func (c Container) Enter(ctx context.Context, argv ...string) (*exec.Cmd, error) {
	pid := c.init()
	if pid == 0 {
		return nil, ErrOff
	}
	term := os.Getenv("TERM")
	if term == "" {
		term = "dumb"
	}
	// nsenter must not wait for the program itself (--no-fork): a node that goes down stops all its processes before it
	// ends them, nsenter would stop itself along with the one it waits for, and the node could not end while nobody
	// collects that process. A shell without job control waits for the end alone.
	args := []string{"-t", strconv.Itoa(pid), "-m", "-u", "-i", "-n", "-p", "-C", "-r", "-w", "--no-fork",
		"/bin/sh", "-c", `"$@"; exit $?`, "sh", "env", "-i",
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin", "HOME=/root", "LANG=C.UTF-8", "TERM=" + term,
		"container=systemd-nspawn"}
	return exec.CommandContext(ctx, "nsenter", append(args, argv...)...), nil
}

// State implements Machine.
func (c Container) State(ctx context.Context) (State, error) {
	if !c.on() {
		return State{}, nil
	}
	return stateFrom(ctx, c), nil
}

// on says whether the supervisor runs, or a container whose supervisor was killed: that one can still be cut from power.
func (c Container) on() bool { return lockHeld(c.lock()) || c.nspawn() > 0 }

// init is the host's process id of the container's first process, 0 when there is none.
func (c Container) init() int {
	if pid := c.nspawn(); pid > 0 {
		return initOf(pid)
	}
	return 0
}

// nspawn is the running process of this machine, 0 when there is none. A recycled id is told by its command line.
func (c Container) nspawn() int {
	pid := readPID(c.nspawnPID())
	if pid == 0 {
		return 0
	}
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || !bytes.Contains(cmdline, []byte(c.Dir)) {
		return 0
	}
	return pid
}

// Sysroot is the machine's file system.
func (c Container) Sysroot() string { return filepath.Join(c.Dir, "sysroot") }

func (c Container) lock() string          { return filepath.Join(c.Dir, "machine.lock") }
func (c Container) nspawnPID() string     { return filepath.Join(c.Dir, "nspawn.pid") }
func (c Container) supervisorLog() string { return filepath.Join(c.Dir, "supervisor.log") }

// deploymentOf resolves the ostree= link of a command line inside a sysroot.
func deploymentOf(sysroot, cmdline string) (string, error) {
	path := ostreePath(cmdline)
	if path == "" {
		return "", errors.New("the default boot entry has no ostree= argument")
	}
	// The folder of all labs may be a link to another place.
	sysroot, err := filepath.EvalSymlinks(sysroot)
	if err != nil {
		return "", fmt.Errorf("find the deployment to boot: %w", err)
	}
	deployment, err := filepath.EvalSymlinks(filepath.Join(sysroot, path))
	if err != nil {
		return "", fmt.Errorf("find the deployment to boot: %w", err)
	}
	if !strings.HasPrefix(deployment, sysroot+"/") {
		return "", fmt.Errorf("the boot entry points outside of the sysroot: %s", deployment)
	}
	return deployment, nil
}
