package containers

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/run"
)

const (
	// atOnce is how many containers are stopped side by side.
	atOnce = 10
	// grace is what a container gets between SIGTERM and SIGKILL, in seconds. Short, because
	// the cluster is down meanwhile; what must not lose data (etcd) survives a kill.
	grace = "5"
	// passes bounds the rounds of stopping containers that appeared meanwhile; etcd takes one for itself.
	passes = 6
	// each bounds one call of crictl.
	each = time.Minute
)

// Options say how to reach the runtime.
type Options struct {
	// Runner runs crictl and systemctl on the host.
	Runner run.Runner
	// Units report whether the runtime's service is active.
	Units host.Units
	Log   *slog.Logger
}

// Runtime implements host.Containers.
type Runtime struct {
	runner run.Runner
	units  host.Units
	log    *slog.Logger
}

// New returns the node's container runtime.
func New(o Options) *Runtime {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Runtime{runner: o.Runner, units: o.Units, log: o.Log}
}

// StopAll implements host.Containers. Where the runtime is down already, containers that outlived
// it are ended by their scopes. Pods that cannot be removed are no error: without containers they
// write nothing.
func (r *Runtime) StopAll(ctx context.Context) error {
	state, err := r.units.State(ctx, host.UnitCRIO)
	if err != nil {
		return fmt.Errorf("stop all containers: %w", err)
	}
	if !state.Exists() {
		return nil
	}
	if state.Active == "active" {
		err = r.stopByRuntime(ctx)
	} else {
		err = r.stopScopes(ctx)
	}
	if err != nil {
		return fmt.Errorf("stop all containers: %w", err)
	}
	return nil
}

// stopByRuntime stops containers until none runs: one that restarts by itself may appear between two passes.
func (r *Runtime) stopByRuntime(ctx context.Context) error {
	for pass := 1; ; pass++ {
		running, err := r.listIDs(ctx, "crictl", "ps", "--quiet")
		if run.NotFound(err) {
			return r.stopScopes(ctx)
		}
		if err != nil {
			return err
		}
		if len(running) == 0 {
			break
		}
		if pass > passes {
			return fmt.Errorf("%d containers still run after %d rounds", len(running), passes)
		}
		if running, err = r.storeLast(ctx, running); err != nil {
			return err
		}
		r.log.Info("stopping containers", "count", len(running), "pass", pass)
		r.runForEach(ctx, running, "crictl", "stop", "--timeout", grace)
	}
	pods, err := r.listIDs(ctx, "crictl", "pods", "--quiet")
	if err != nil {
		return err
	}
	r.runForEach(ctx, pods, "crictl", "rmp", "--force")
	return ctx.Err()
}

// storeLast leaves etcd out while anything else runs, so that etcd also stores what the API server still accepts.
func (r *Runtime) storeLast(ctx context.Context, running []string) ([]string, error) {
	store, err := r.listIDs(ctx, "crictl", "ps", "--quiet", "--name", "^etcd$")
	if err != nil {
		return nil, err
	}
	others := slices.DeleteFunc(slices.Clone(running), func(id string) bool { return slices.Contains(store, id) })
	if len(others) == 0 {
		return running, nil
	}
	return others, nil
}

// stopScopes stops containers whose runtime is down. systemd keeps each in a scope of its own.
func (r *Runtime) stopScopes(ctx context.Context) error {
	out, err := r.runCommand(ctx, "systemctl", "list-units", "--type=scope", "--state=active", "--plain", "--no-legend", "crio-*.scope")
	if err != nil {
		return err
	}
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		r.log.Info("stopping a container that outlived its runtime", "unit", fields[0])
		if err := r.units.Stop(ctx, fields[0]); err != nil {
			return err
		}
	}
	return nil
}

// runForEach runs argv once for each word, a few at a time. Failures are only logged: what
// counts is whether a container still runs, and the next pass checks that.
func (r *Runtime) runForEach(ctx context.Context, words []string, argv ...string) {
	slots := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for _, word := range words {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if _, err := r.runCommand(ctx, append(append([]string{}, argv...), word)...); err != nil {
				r.log.Warn("container runtime", "error", err)
			}
		})
	}
	wg.Wait()
}

func (r *Runtime) listIDs(ctx context.Context, argv ...string) ([]string, error) {
	out, err := r.runCommand(ctx, argv...)
	return strings.Fields(out), err
}

func (r *Runtime) runCommand(ctx context.Context, argv ...string) (string, error) {
	res, err := r.runner.Run(ctx, run.Command{Argv: argv, Timeout: each})
	return string(res.Stdout), err
}
