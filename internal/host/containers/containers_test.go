package containers

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/run"
)

var _ host.Containers = (*Runtime)(nil)

// node is a runtime with containers, pods and scopes.
type node struct {
	host.Units // the methods that nothing here calls

	mu                       sync.Mutex
	crio                     host.UnitState
	running, pods, scopes    []string
	stubborn, late, noCrictl bool
	calls                    []string
}

// State implements host.Units.
func (n *node) State(context.Context, string) (host.UnitState, error) { return n.crio, nil }

// Stop implements host.Units.
func (n *node) Stop(_ context.Context, unit string) error {
	n.scopes = slices.DeleteFunc(n.scopes, func(s string) bool { return s == unit })
	return nil
}

// Run implements run.Runner.
func (n *node) Run(_ context.Context, c run.Command) (run.Result, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	line := strings.Join(c.Argv, " ")
	n.calls = append(n.calls, line)
	if c.Argv[0] == "crictl" && n.noCrictl {
		return run.Result{}, &run.Error{Argv: c.Argv, ExitCode: run.NoExit, Err: exec.ErrNotFound}
	}
	last := c.Argv[len(c.Argv)-1]
	switch {
	case line == "crictl ps --quiet":
		return out(n.running), nil
	case line == "crictl ps --quiet --name ^etcd$":
		return out(slices.DeleteFunc(slices.Clone(n.running), func(s string) bool { return s != "etcd" })), nil
	case line == "crictl pods --quiet":
		return out(n.pods), nil
	case strings.HasPrefix(line, "crictl stop --timeout 5 "):
		return run.Result{}, n.stop(last)
	case strings.HasPrefix(line, "crictl rmp --force "):
		n.pods = slices.DeleteFunc(n.pods, func(s string) bool { return s == last })
		return run.Result{}, nil
	case strings.HasPrefix(line, "systemctl list-units --type=scope"):
		return out(n.scopes), nil
	}
	return run.Result{}, errors.New("unexpected " + line)
}

func (n *node) stop(id string) error {
	if n.stubborn {
		return errors.New("context deadline exceeded")
	}
	n.running = slices.DeleteFunc(n.running, func(s string) bool { return s == id })
	if n.late {
		n.late = false
		n.running = append(n.running, "late")
	}
	return nil
}

func out(words []string) run.Result {
	var b strings.Builder
	for _, w := range words {
		b.WriteString(w + "\n")
	}
	return run.Result{Stdout: []byte(b.String())}
}

var up = host.UnitState{Load: "loaded", Active: "active"}

func many(prefix string, n int) []string {
	var words []string
	for i := range n {
		words = append(words, fmt.Sprintf("%s%d", prefix, i))
	}
	return words
}

func stopAll(t *testing.T, n *node) error {
	t.Helper()
	return New(Options{Runner: n, Units: n}).StopAll(t.Context())
}

func TestStopAll(t *testing.T) {
	n := &node{crio: up, running: many("c", 35), pods: many("p", 12), late: true}
	require.NoError(t, stopAll(t, n))
	require.Empty(t, n.running, "a container that came late is stopped too")
	require.Empty(t, n.pods)
	require.NoError(t, stopAll(t, n), "with nothing left to stop")
}

func TestTheStoreIsStoppedLast(t *testing.T) {
	n := &node{crio: up, running: append([]string{"etcd"}, many("c", 3)...), late: true}
	require.NoError(t, stopAll(t, n))
	require.Empty(t, n.running)
	var stopped []string
	for _, line := range n.calls {
		if id, ok := strings.CutPrefix(line, "crictl stop --timeout 5 "); ok {
			stopped = append(stopped, id)
		}
	}
	require.Len(t, stopped, 5)
	require.Equal(t, "etcd", stopped[4], "%v", stopped)
}

func TestContainerThatDoesNotStop(t *testing.T) {
	n := &node{crio: up, running: []string{"c0"}, stubborn: true}
	require.ErrorContains(t, stopAll(t, n), "1 containers still run")
}

func TestNoRuntime(t *testing.T) {
	n := &node{crio: host.UnitState{Load: "not-found"}}
	require.NoError(t, stopAll(t, n))
	require.Empty(t, n.calls)
}

func TestContainersThatOutlivedTheRuntime(t *testing.T) {
	for name, n := range map[string]*node{
		"runtime down": {crio: host.UnitState{Load: "loaded", Active: "failed"}},
		"no crictl":    {crio: up, noCrictl: true},
	} {
		t.Run(name, func(t *testing.T) {
			n.scopes = []string{"crio-conmon-a.scope", "crio-a.scope"}
			require.NoError(t, stopAll(t, n))
			require.Empty(t, n.scopes)
		})
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n := &node{crio: up}
	require.ErrorIs(t, New(Options{Runner: n, Units: n}).StopAll(ctx), context.Canceled)
}
