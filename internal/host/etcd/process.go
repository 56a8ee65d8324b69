package etcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

const (
	pidFile  = "etcd.pid"
	tailSize = 2048
)

// process is a running etcd (or the podman that holds it).
type process struct {
	cmd    *exec.Cmd
	output *tail
	// done is closed when the process has ended; err is then its exit.
	done chan struct{}
	err  error
}

// startProcess launches etcd with a clean environment (ETCD_* variables would configure it)
// and in its own process group, so that an interrupt of the caller lets it finish. The end of ctx kills it.
func (s *Store) startProcess(ctx context.Context, run launcher) (*process, error) {
	argv := append(run.argv(s.cfg.DataDir, s.cfg.RuntimeDir), s.cfg.Args...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	p := &process{cmd: cmd, output: &tail{}, done: make(chan struct{})}
	p.cmd.Dir = s.cfg.RuntimeDir
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/root"}
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	started := make(chan error)
	go p.startAndWait(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start etcd by %s: %w", run.name(), err)
	}
	pid := strconv.Itoa(p.cmd.Process.Pid)
	if err := os.WriteFile(filepath.Join(s.cfg.RuntimeDir, pidFile), []byte(pid), 0o600); err != nil {
		p.kill()
		return nil, fmt.Errorf("record etcd's pid: %w", err)
	}
	return p, nil
}

// startAndWait keeps its thread until the process ends: the kernel sends the parent-death signal,
// which stops etcd in order when this process is killed, as soon as the starting thread exits.
func (p *process) startAndWait(started chan<- error) {
	runtime.LockOSThread()
	if err := p.cmd.Start(); err != nil {
		close(p.done)
		started <- err
		return
	}
	started <- nil
	p.err = p.cmd.Wait()
	close(p.done)
}

// stop asks etcd to end and waits for it; etcd answers the signal by flushing its data.
func (p *process) stop(ctx context.Context) error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop etcd: %w", err)
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		p.kill()
		return fmt.Errorf("etcd did not stop in time and was killed: %w", ctx.Err())
	}
	if !endedInOrder(p.err) {
		return fmt.Errorf("etcd failed while stopping: %w; it says: %s", p.err, p.output)
	}
	return nil
}

// endedInOrder accepts exit 0 and death by the SIGTERM that etcd re-raises after its shutdown
// (143 when podman passes it on).
func endedInOrder(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err == nil
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && (status.Signal() == syscall.SIGTERM || status.ExitStatus() == 128+int(syscall.SIGTERM))
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails only where the process is gone already
	<-p.done
}

// clearRemains stops the etcd of an earlier run that was killed, then waits until no process holds the data.
func (s *Store) clearRemains(ctx context.Context) error {
	orphan := s.findOrphan()
	if orphan != 0 {
		s.cfg.Log.Info("stopping the etcd of an earlier run", "op", "keystore-open", "pid", orphan)
		_ = syscall.Kill(orphan, syscall.SIGTERM) // may have exited meanwhile: the lock below decides
	}
	began := time.Now()
	for {
		free, err := dataFree(s.cfg.DataDir)
		if err != nil || free {
			return err
		}
		waited := time.Since(began)
		if waited > s.cfg.LockWait/2 && orphan != 0 {
			_ = syscall.Kill(orphan, syscall.SIGKILL) // as above; its log makes this safe
			orphan = 0
		}
		if waited > s.cfg.LockWait {
			return fmt.Errorf("another process holds the etcd data %s: the cluster must be stopped first", s.cfg.DataDir)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the etcd data to become free: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// findOrphan returns the pid that the last run recorded if it is still that etcd: same working
// directory and the socket among its arguments, so a recycled pid is never signalled.
func (s *Store) findOrphan() int {
	text, err := os.ReadFile(filepath.Join(s.cfg.RuntimeDir, pidFile))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil || pid <= 1 {
		return 0
	}
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	cwd, err := os.Readlink(filepath.Join(proc, "cwd"))
	if err != nil || cwd != s.cfg.RuntimeDir {
		return 0
	}
	cmdline, err := os.ReadFile(filepath.Join(proc, "cmdline"))
	if err != nil || !bytes.Contains(cmdline, []byte(clientURL)) {
		return 0
	}
	return pid
}

// dataFree tries the lock that every running etcd holds on its database file.
func dataFree(dataDir string) (bool, error) {
	f, err := os.OpenFile(filepath.Join(dataDir, "member", "snap", "db"), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("check whether the etcd data is in use: %w", err)
	}
	defer f.Close()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("check whether the etcd data is in use: %w", err)
	}
	return true, nil
}
