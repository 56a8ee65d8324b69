package crashtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// wnothread keeps wait4 to the children of this thread (wait(2)).
const wnothread = 0x20000000

// errNotPermitted says that this system does not let a process trace its own child.
var errNotPermitted = errors.New("ptrace is not permitted")

// syscallInfo is struct ptrace_syscall_info (ptrace(2)); the arguments of an entry and the result of an exit
// share their place.
type syscallInfo struct {
	op    uint8
	_     [3]uint8
	_     uint32
	_, _  uint64
	words [7]uint64
}

const (
	infoEntry = 1
	infoExit  = 2
)

func (i syscallInfo) number() int      { return int(i.words[0]) }
func (i syscallInfo) arg(n int) uint64 { return i.words[1+n] }
func (i syscallInfo) hasFailed() bool  { return uint8(i.words[1]) != 0 }

// tracer sees each thread of a process at the entry and the exit of each system call.
type tracer struct {
	pid     int
	entered map[int]syscallInfo // thread -> the call it is in
	onEntry func(tid int, call syscallInfo) error
	onExit  func(tid int, call syscallInfo) error
}

// traceCommand starts the command and traces it to its end; it returns the exit code. Must keep its thread.
func (t *tracer) traceCommand(cmd *exec.Cmd) (int, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
			return 0, fmt.Errorf("%w: %w", errNotPermitted, err)
		}
		return 0, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	t.pid, t.entered = cmd.Process.Pid, map[int]syscallInfo{}
	defer cmd.Process.Release()
	code, err := t.traceLoop()
	if err != nil {
		_ = unix.Kill(t.pid, unix.SIGKILL)
	}
	return code, err
}

func (t *tracer) traceLoop() (int, error) {
	var status unix.WaitStatus
	if _, err := unix.Wait4(t.pid, &status, unix.WALL|wnothread, nil); err != nil {
		return 0, fmt.Errorf("wait for the traced process: %w", err)
	}
	const options = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_EXITKILL
	if err := unix.PtraceSetOptions(t.pid, options); err != nil {
		return 0, fmt.Errorf("%w: %w", errNotPermitted, err)
	}
	tid, signal := t.pid, 0
	for {
		if err := unix.PtraceSyscall(tid, signal); err != nil && !errors.Is(err, unix.ESRCH) {
			return 0, fmt.Errorf("resume thread %d: %w", tid, err)
		}
		var err error
		if tid, err = waitThread(&status); err != nil {
			return 0, err
		}
		if tid == t.pid && (status.Exited() || status.Signaled()) {
			return status.ExitStatus(), nil
		}
		if signal, err = t.handleStop(tid, status); err != nil {
			return 0, err
		}
	}
}

func waitThread(status *unix.WaitStatus) (int, error) {
	for {
		tid, err := unix.Wait4(-1, status, unix.WALL|wnothread, nil)
		if !errors.Is(err, unix.EINTR) {
			return tid, os.NewSyscallError("wait4", err)
		}
	}
}

// handleStop handles one stop and returns the signal to deliver when the thread is resumed.
func (t *tracer) handleStop(tid int, status unix.WaitStatus) (int, error) {
	switch sig := status.StopSignal(); {
	case !status.Stopped():
		delete(t.entered, tid)
		return 0, nil
	case sig == unix.SIGTRAP|0x80:
		return 0, t.handleCall(tid)
	case sig == unix.SIGTRAP, sig == unix.SIGSTOP: // an event of ptrace, the first stop of a new thread
		return 0, nil
	default:
		return int(sig), nil
	}
}

func (t *tracer) handleCall(tid int) error {
	var info syscallInfo
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(tid),
		unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	if errno == unix.ESRCH {
		return nil
	}
	if errno != 0 {
		return fmt.Errorf("read the system call of thread %d: %w", tid, errno)
	}
	switch info.op {
	case infoEntry:
		t.entered[tid] = info
		return t.onEntry(tid, info)
	case infoExit:
		call := t.entered[tid]
		delete(t.entered, tid)
		if info.hasFailed() {
			return nil
		}
		return t.onExit(tid, call)
	}
	return nil
}

// peekString reads a string of the traced process.
func peekString(tid int, at uint64) string {
	buf := make([]byte, 64)
	n, err := unix.PtracePeekData(tid, uintptr(at), buf)
	if err != nil {
		return ""
	}
	return unix.ByteSliceToString(buf[:n])
}
