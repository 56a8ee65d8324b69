package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	clirecert "github.com/lifecycle-agent/lifecycle-agent/internal/cli/recert"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/systemd"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert"
)

func recertWiring(log *slog.Logger, w verb.Wiring) clirecert.Wiring {
	return clirecert.Wiring{
		Log: log, Out: w.Out,
		Lock: func(ctx context.Context, verb string) (func(), error) {
			return w.Lock.Acquire(ctx, host.Holder{Operation: verb, Program: "lca-cli " + verb})
		},
		Ports: func(s clirecert.Source) (recert.Ports, error) { return recertPorts(log, s) },
		Stopped: func(ctx context.Context) error {
			units := systemd.New(systemd.Options{Log: log})
			state, err := units.State(ctx, host.UnitKubelet)
			if err != nil {
				return fmt.Errorf("look whether the cluster is stopped: %w", err)
			}
			if state.Running() {
				return fmt.Errorf("%s runs: stop it, the containers and %s first", host.UnitKubelet, host.UnitCRIO)
			}
			return nil
		},
	}
}

// recertPorts opens the cluster that the flags name.
func recertPorts(log *slog.Logger, s clirecert.Source) (recert.Ports, error) {
	if info, err := os.Stat(s.Root); err != nil || !info.IsDir() {
		return recert.Ports{}, errors.Join(fmt.Errorf("--root %s is not a folder", s.Root), err)
	}
	ports := recert.Ports{Files: files.New(s.Root), Log: log}
	if s.Endpoint != "" {
		ports.Keystore = etcd.NewLive(etcd.LiveConfig{Endpoint: s.Endpoint, CertFile: s.Cert, CAFile: s.CA, Writable: s.Write})
		return ports, nil
	}
	cfg := etcd.Config{
		DataDir: filepath.Join(s.Root, s.Data), Manifest: filepath.Join(s.Root, host.EtcdPodManifest), Log: log,
	}
	if s.Root != "/" { // not in the way of an operation on this node
		cfg.RuntimeDir = fmt.Sprintf("%s-%d", etcd.DefaultRuntimeDir, os.Getpid())
	}
	ports.Keystore = etcd.New(cfg)
	return ports, nil
}
