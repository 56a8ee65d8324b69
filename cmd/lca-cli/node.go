package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/containers"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/dnsmasq"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/grub"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hostname"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/journald"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/ostree"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/ovs"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/podman"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/probe"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/run"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/systemd"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/trees"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/volumes"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/snapshot"
)

// networkState holds the network adapter's transaction journal.
const networkState = host.StateDir + "/network"

// managerLogLines is how far back NetworkManager's log is read for who made a checkpoint.
const managerLogLines = 2000

// opener builds the ports of the machine that this process runs on.
type opener struct{ log *slog.Logger }

// openNode builds the ports, and for a verb that acts a writable view of the sysroot.
func (o opener) openNode(ctx context.Context, acting bool) (host.Node, operation.Instruments, error) {
	if acting {
		if err := ownMounts(); err != nil {
			return host.Node{}, operation.Instruments{}, err
		}
		if err := ostree.WritableSysroot(ctx); err != nil {
			return host.Node{}, operation.Instruments{}, fmt.Errorf("make the sysroot writable for this process: %w", err)
		}
	}
	seen := &evidence{}
	return buildNode(o.log, seen), operation.Instruments{Evidence: seen.drain, Watch: logEntries(o.log)}, nil
}

// openIPConfig adds what an IP change needs besides.
func (o opener) openIPConfig(ctx context.Context, acting bool) (change.Ports, operation.Instruments, error) {
	node, with, err := o.openNode(ctx, acting)
	return ipConfigPorts(node, o.log), with, err
}

func ipConfigPorts(node host.Node, log *slog.Logger) change.Ports {
	fs := files.New("/")
	return change.Ports{
		Node: node, Cluster: localCluster{files: fs}, Forecaster: forecaster{files: fs, log: log},
		Clock: flow.SystemClock{}, Log: log,
	}
}

// openSnapshot adds what a copy of the system needs besides.
func (o opener) openSnapshot(ctx context.Context, acting bool) (snapshot.Ports, operation.Instruments, error) {
	node, with, err := o.openNode(ctx, acting)
	return snapshotPorts(node, o.log), with, err
}

func snapshotPorts(node host.Node, log *slog.Logger) snapshot.Ports {
	return snapshot.Ports{Node: node, Clock: flow.SystemClock{}, Log: log}
}

// keptStateroots are those of the IP change and of the relocation on this node, and the way back of the stateroot that runs.
func keptStateroots(ctx context.Context, n snapshot.Ports) (kept []string, err error) {
	all, err := n.Deployments.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list deployments: %w", err)
	}
	r, _, err := ipconfig.FindRequest(n.Files, all)
	switch {
	case err == nil:
		kept = append(kept, r.OldStateroot, r.NewStateroot)
	case !errors.Is(err, ipconfig.ErrNoRequest):
		return nil, err
	}
	booted, err := host.Booted(all)
	if err != nil {
		return nil, fmt.Errorf("find the booted deployment: %w", err)
	}
	if s, found, _ := operation.ReadStateroot(n.Files, booted); found && s.WayBack != nil {
		kept = append(kept, s.WayBack.Stateroot)
	}
	switch record, err := relocation.ReadRecord(n.Files); {
	case err == nil && booted.Stateroot == record.Factory:
		kept = append(kept, record.Site)
	case err == nil:
		kept = append(kept, record.Factory) // a change of the address on site, or a copy, has the same way back
	case !errors.Is(err, operation.ErrRefused):
		return nil, err
	}
	return kept, nil
}

func newOperationID() string { return operation.NewID(time.Now(), uint16(rand.Uint32())) }

// logEntries logs each journal entry that a person wants to read.
func logEntries(log *slog.Logger) func(flow.Entry) {
	return func(e flow.Entry) {
		if line := operation.Narrate(e); line != "" {
			log.Info("progress", "what", line, "op", e.Operation, "flow", e.Flow, "step", e.Step, "attempt", e.Attempt)
		}
	}
}

func buildNode(log *slog.Logger, seen *evidence) host.Node {
	runner := run.New(run.Options{Observe: seen.addCommand})
	fs := files.New("/")
	units, deployments := systemd.New(systemd.Options{Log: log}), ostree.New(ostree.Options{Runner: runner, Files: fs, Log: log})
	sw, names := ovs.New(""), hostname.New(runner)
	network := nm.New(nm.Options{
		Bus: nm.SystemBus(""), Files: fs, StateDir: networkState, Switch: sw, Names: names, Log: log,
		ManagerLog: func(ctx context.Context) ([]byte, error) {
			return journald.New(runner).Unit(ctx, host.UnitNetwork, managerLogLines)
		},
	})
	return host.Node{
		Files: fs, Trees: trees.New(trees.Options{Log: log}),
		Deployments: deployments, OneTimeBoot: grub.New(fs, deployments),
		Units: units, Masks: units, Foreign: units, Transients: units, Power: units,
		Network: network, Planner: network,
		Switch: sw, Prober: probe.New(), Resolver: dnsmasq.New(fs), Hostname: names,
		Containers: containers.New(containers.Options{Runner: runner, Units: units, Log: log}),
		Recert:     recert.New(recert.Ports{Keystore: etcd.New(etcd.Config{Log: log}), Files: fs, Log: log}),
		RecertImages: podman.New(podman.Options{
			Runner: runner, Files: fs, Log: log, EtcdImage: func() (string, error) { return etcd.Image(host.EtcdPodManifest) },
		}),
		Logs: journald.New(runner), Volumes: volumes.New(volumes.Options{Log: log}),
	}
}

// evidence gathers the commands of a step until the journal takes them.
type evidence struct {
	mu   sync.Mutex
	list []flow.Evidence
}

// keptEvidence bounds what one step may add to the journal.
const keptEvidence = 40

func (e *evidence) addCommand(r run.Evidence) {
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
