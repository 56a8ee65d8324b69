package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// process is a program that runs on the build host while the state is prepared.
type process struct {
	name string
	cmd  *exec.Cmd
	log  string // file with its output
	done chan struct{}
	err  error // how it ended; to be read after done is closed
}

// startProcess runs argv with its output in the file log.
func startProcess(name, log string, argv ...string) (*process, error) {
	out, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", name, err)
	}
	defer out.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &process{name: name, cmd: cmd, log: log, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// stop asks the process to end and waits; after a minute it kills it.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		if errors.Is(err, os.ErrProcessDone) {
			return nil
		}
		return fmt.Errorf("stop %s: %w", p.name, err)
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(time.Minute):
		_ = p.cmd.Process.Kill()
		return fmt.Errorf("stop %s: it ignored the request for a minute and was killed", p.name)
	}
}

// waitFor polls ready until it returns nil, the process ends or ctx is done.
func (p *process) waitFor(ctx context.Context, ready func(context.Context) error) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		if last = ready(ctx); last == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s ended before it was ready: %w\n%s", p.name, errors.Join(p.err, last), tail(p.log))
		case <-ctx.Done():
			return fmt.Errorf("%s was not ready in time: %w (%w)\n%s", p.name, ctx.Err(), last, tail(p.log))
		case <-tick.C:
		}
	}
}

// tail returns the last lines of a log file.
func tail(file string) string {
	const limit = 2000
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	if len(text) > limit {
		text = text[len(text)-limit:]
	}
	return string(text)
}

// freePorts reserves n TCP ports of the loopback address by binding and releasing them.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
