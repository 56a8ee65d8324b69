package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/containers"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/dnsmasq"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/journald"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/ostree"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/ovs"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/podman"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/probe"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/run"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/systemd"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/trees"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert"
)

// networkState holds the network adapter's transaction journal.
const networkState = host.StateDir + "/network"

// nodes builds the ports of the machine this process runs on.
func nodes(log *slog.Logger) func(context.Context, bool) (ipconfig.Node, ipconfig.Instruments, error) {
	return func(ctx context.Context, acting bool) (ipconfig.Node, ipconfig.Instruments, error) {
		if acting {
			if err := ownMounts(); err != nil {
				return ipconfig.Node{}, ipconfig.Instruments{}, err
			}
			if err := ostree.WritableSysroot(ctx); err != nil {
				return ipconfig.Node{}, ipconfig.Instruments{}, fmt.Errorf("make the sysroot writable for this process: %w", err)
			}
		}
		seen := &evidence{}
		node := buildNode(log, seen)
		with := ipconfig.Instruments{Evidence: seen.drain, Watch: func(e flow.Entry) {
			if line := ipconfig.Narrate(e); line != "" {
				log.Info("progress", "what", line, "op", e.Operation, "flow", e.Flow, "step", e.Step, "attempt", e.Attempt)
			}
		}}
		return node, with, nil
	}
}

func buildNode(log *slog.Logger, seen *evidence) ipconfig.Node {
	runner := run.New(run.Options{Observe: seen.add})
	fs := files.New("/")
	units := systemd.New(systemd.Options{Log: log})
	sw := ovs.New("")
	return ipconfig.Node{
		Files: fs, Trees: trees.New(trees.Options{Log: log}),
		Deployments: ostree.New(ostree.Options{Runner: runner, Files: fs, Log: log}),
		Units:       units, Masks: units, Foreign: units, Power: units,
		Network: nm.New(nm.Options{Bus: nm.SystemBus(""), Files: fs, StateDir: networkState, Switch: sw, Log: log}),
		Switch:  sw, Prober: probe.New(), Resolver: dnsmasq.New(fs),
		Containers: containers.New(containers.Options{Runner: runner, Units: units, Log: log}),
		Recert:     recert.New(recert.Ports{Keystore: etcd.New(etcd.Config{Log: log}), Files: fs, Log: log}),
		RecertImages: podman.New(podman.Options{
			Runner: runner, Files: fs, Log: log, EtcdImage: func() (string, error) { return etcd.Image(host.EtcdPodManifest) },
		}),
		Logs:       journald.New(runner),
		Cluster:    localCluster{files: fs},
		Forecaster: forecaster{files: fs, log: log},
		Clock:      flow.SystemClock{}, Log: log,
	}
}

// evidence gathers the commands of a step until the journal takes them.
type evidence struct {
	mu   sync.Mutex
	list []flow.Evidence
}

// keptEvidence bounds what one step may add to the journal.
const keptEvidence = 40

func (e *evidence) add(r run.Evidence) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.list) < keptEvidence {
		e.list = append(e.list, flow.Evidence{Argv: r.Argv, ExitCode: r.ExitCode, Tail: r.Output, TookMS: r.Took.Milliseconds()})
	}
}

func (e *evidence) drain() []flow.Evidence {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := e.list
	e.list = nil
	return out
}
