// Package factory makes a node relocatable: it renders the MachineConfig for clusters that are not installed yet, and
// prepares one that runs, by making a second stateroot from it that waits for its site. The factory's own stateroot stays
// as it was proved, and is the way back on site.
//
// lca-cli calls it. It imports the step libraries and host ports, no adapter.
package factory

import (
	"context"
	"log/slog"
	"path"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// Cluster is the factory's API server.
type Cluster interface {
	Facts(ctx context.Context) (relocation.Facts, error)
	// Healthy says what is wrong with the cluster.
	Healthy(ctx context.Context) error
	// Certificates lists those of the cluster.
	Certificates(ctx context.Context) ([]relocation.Certificate, error)
}

// Ports is what main gives the flow.
type Ports struct {
	host.Node
	Cluster Cluster
	Clock   flow.Clock
	Log     *slog.Logger
}

func (n Ports) clusterWorkload() stateroot.Workload {
	return stateroot.Workload{Units: n.Units, Masks: n.Masks, Containers: n.Containers}
}

// Plan lists the steps of a preparation. Everything up to flip-default is undone on failure; then the node boots into
// the stateroot that waits for its site, and only the factory's cluster remains to be started again.
func Plan(n Ports, r relocation.Record) flow.Plan {
	m := n.newSiteBuild(r.OperationID, stateroot.Pair{Old: r.Factory, New: r.Site})
	return flow.Plan{
		Name: relocation.FlowPrepare, Commit: stateroot.StepFlip, MaxAttempts: 3,
		Steps: []flow.Step{
			{Name: relocation.StepCheck, Title: "Check that the node can be relocated", Do: m.checkPreconditions},
			{Name: relocation.StepRecord, Title: "Record what the factory knows", Do: func(context.Context) error {
				if err := relocation.ForgetPending(n.Files); err != nil { // of an earlier preparation
					return err
				}
				return operation.WriteJSON(n.Files, relocation.RecordFile, r)
			}, Undo: func(context.Context) error { return n.Files.Remove(relocation.Dir) }},
			stateroot.Clone(n.Deployments, r.Site),
			stateroot.CopyLive(m.siteMirror()),
			stateroot.Quiesce(n.clusterWorkload()),
			stateroot.CopyFinal(m.siteMirror(), n.Deployments),
			{Name: relocation.StepFurnish, Title: "Configure the new stateroot to wait for its site", Do: m.configureToWait},
			stateroot.Seal(m.siteSealing(), n.Files, n.Deployments, n.Trees),
			stateroot.Flip(n.Deployments, m.pair),
			{Name: relocation.StepStart, Title: "Start the factory's cluster again", Do: n.clusterWorkload().Revive,
				Tries: 3, Pause: 5 * time.Second},
		},
	}
}

// siteBuild is the making of a stateroot that is reconfigured on site.
type siteBuild struct {
	Ports
	operation string
	pair      stateroot.Pair
}

func (n Ports) newSiteBuild(id string, pair stateroot.Pair) siteBuild { return siteBuild{n, id, pair} }

// checkPreconditions refuses what no retry mends.
func (m siteBuild) checkPreconditions(ctx context.Context) error {
	if err := stateroot.OwnState(m.Files, m.pair.Old); err != nil {
		return flow.Permanent(err)
	}
	if err := m.Deployments.CanSetDefault(ctx); err != nil {
		return flow.Permanent(err)
	}
	return stateroot.Room{Files: m.Files, Disk: m.Trees}.Enough(ctx, m.pair)
}

// siteMirror leaves out the records of operations: they belong to the system that ran them.
func (m siteBuild) siteMirror() stateroot.Mirror {
	return stateroot.Mirror{Trees: m.Trees, Files: m.Files, Log: m.Log, Pair: m.pair,
		Skip: []string{"lib/lca/evidence", "lib/lca/journal", "lib/lca/workspace", "lib/lca/ipc.json",
			"lib/lca/stateroot-clone.json", "lib/lca/relocation/last.json",
			"lib/lca/relocation/pending.json", "lib/lca/relocation/wish.json",
			// Secrets of this system, which are for its own readers.
			"lib/lca/relocation/handover.json", "lib/lca/relocation/typed.yaml",
			// A preparation that is under way: in the new system it would be begun again, over its own files.
			"lib/lca/relocation-prepare.json"}}
}

// configureToWait keeps kubelet down in the new stateroot and has it wait for a configuration.
func (m siteBuild) configureToWait(ctx context.Context) error {
	_, target, err := m.pair.Deployments(ctx, m.Deployments)
	if err != nil {
		return err
	}
	if err := HoldBack(ctx, m.Node, target); err != nil {
		return err
	}
	if err := stateroot.WriteUnit(m.Files, target, relocation.UnitMonitor, relocation.MonitorUnit); err != nil {
		return err
	}
	if err := bringup.RemoveNetworkState(m.Files, target); err != nil {
		return err
	}
	// The site's disk may be full before the reconfiguration keeps room for the way back.
	return stateroot.KeepOwnBallast(m.Files, m.pair.New)
}

// siteSealing lists what must be whole when the node is switched on at its site, months later.
func (m siteBuild) siteSealing() stateroot.Sealing {
	return stateroot.Sealing{Operation: m.operation, Pair: m.pair, MadeBy: relocation.MadeBy, Clock: m.Clock,
		Contents: func(func(string) string) ([]string, error) {
			return []string{
				relocation.RecordFile, relocation.HoldFile, dropIn(host.UnitKubelet),
				path.Join(host.UnitDir, relocation.UnitPage),
				path.Join(host.UnitDir, relocation.UnitReconfigure), path.Join(host.UnitDir, relocation.UnitMonitor),
			}, nil
		}}
}
