package main

import (
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	restartDelay = time.Second
	maxDelay     = 10 * time.Second
	// stopPatience is how long a child may take to end before it is killed: what a container gets from "crictl stop --timeout 5".
	// An API server that somebody still watches takes all of it. systemd waits for the agent longer than for both.
	stopPatience = 5 * time.Second
)

// child is one container's process, restarted whenever it ends.
type child struct {
	command
	log      *slog.Logger
	quit     chan struct{}
	finished chan struct{}
}

// startChild keeps the command running until stop.
func startChild(c command, log *slog.Logger) *child {
	ch := &child{command: c, log: log.With("container", c.name), quit: make(chan struct{}), finished: make(chan struct{})}
	go ch.supervise()
	return ch
}

func (ch *child) supervise() {
	defer close(ch.finished)
	delay := restartDelay
	for {
		began := time.Now()
		if stopped := ch.once(); stopped {
			return
		}
		if time.Since(began) > time.Minute {
			delay = restartDelay
		}
		select {
		case <-ch.quit:
			return
		case <-time.After(delay):
		}
		delay = min(2*delay, maxDelay)
	}
}

// once runs the process to its end and tells whether it ended because it was stopped.
func (ch *child) once() bool {
	cmd := exec.Command(ch.argv[0], ch.argv[1:]...)
	cmd.Env = append(inherited(os.Environ()), ch.env...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	// A group of its own: a ^C meant for the agent must not take etcd down before the API server.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		ch.log.Error("container does not start", "error", err)
		return false
	}
	ch.log.Info("container started", "pid", cmd.Process.Pid)
	done := make(chan struct{})
	var ended error
	go func() {
		ended = cmd.Wait()
		close(done)
	}()
	select {
	case <-done:
		ch.log.Error("container ended, it will be restarted", "error", ended)
		return false
	case <-ch.quit:
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-done:
	case <-time.After(stopPatience):
		ch.log.Error("container did not end in time, killing it")
		_ = cmd.Process.Kill()
		<-done
	}
	ch.log.Info("container stopped")
	return true
}

// stop ends the process and waits for it.
func (ch *child) stop() {
	close(ch.quit)
	<-ch.finished
}

// inherited drops the variables by which systemd talks to the agent: etcd would answer in its place that the service is ready.
func inherited(env []string) []string {
	return slices.DeleteFunc(env, func(v string) bool {
		return strings.HasPrefix(v, "NOTIFY_SOCKET=") || strings.HasPrefix(v, "WATCHDOG_")
	})
}
