package main

import (
	"context"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/clustercopy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/run"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/rehearsal"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// openRehearsal adds what a rehearsal needs besides. The sysroot stays as it is.
func (o opener) openRehearsal(ctx context.Context) (rehearsal.Ports, operation.Instruments, error) {
	node, with, err := o.openIPConfig(ctx, false)
	return rehearsal.Ports{
		Ports: node, Copies: systemCopies{log: o.log, runtime: "/run/lca/rehearsal-etcd", cgroups: clustercopy.ChooseCGroups()},
		ControlPlane: clustercopy.New(clustercopy.Options{Runner: run.New(run.Options{}), Log: o.log}),
	}, with, err
}
