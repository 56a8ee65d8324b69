package snapshot

import (
	"context"
	"log/slog"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// FlowClone and the names of its own steps, as journals store them.
const (
	FlowClone = "stateroot-clone"
	StepRoom  = "check-room"
	StepFlush = "flush"
	StepStart = "start-cluster"
)

const (
	// RequestFile holds the request of the copy that is being made.
	RequestFile = host.StateDir + "/stateroot-clone.json"
	// Unit runs a copy.
	Unit = "lca-stateroot-clone.service"
)

// Request says what to copy where.
type Request struct {
	OperationID string `json:"operation-id"`
	Old         string `json:"old-stateroot-name"`
	New         string `json:"new-stateroot-name"`
}

// Ports is what main gives the flow.
type Ports struct {
	host.Node
	Clock flow.Clock
	Log   *slog.Logger
}

// Plan lists the steps. Everything before flush is undone on failure; after it the copy is whole, and only the cluster
// remains to be started.
func Plan(n Ports, r Request) flow.Plan {
	pair := stateroot.Pair{Old: r.Old, New: r.New}
	workload := stateroot.Workload{Units: n.Units, Masks: n.Masks, Containers: n.Containers}
	// The records of operations belong to the system that ran them.
	mirror := stateroot.Mirror{Trees: n.Trees, Files: n.Files, Log: n.Log, Pair: pair,
		Skip: []string{"lib/lca/evidence", "lib/lca/journal", "lib/lca/workspace", "lib/lca/ipc.json", "lib/lca/stateroot-clone.json",
			"lib/lca/rehearsal", "lib/lca/ip-config-rehearsal.json"}}
	return flow.Plan{
		Name: FlowClone, Commit: StepFlush, MaxAttempts: 3,
		Steps: []flow.Step{
			{Name: StepRoom, Title: "Check that there is room", Do: func(ctx context.Context) error {
				return stateroot.Room{Files: n.Files, Disk: n.Trees}.Enough(ctx, pair)
			}},
			stateroot.Clone(n.Deployments, r.New),
			stateroot.CopyLive(mirror),
			stateroot.Quiesce(workload),
			stateroot.CopyFinal(mirror, n.Deployments),
			{Name: StepFlush, Title: "Flush the copy to the disk", Do: func(ctx context.Context) error {
				if err := recordCopy(ctx, n, r); err != nil {
					return err
				}
				return n.Trees.Sync(host.DeployDir)
			}},
			{Name: StepStart, Title: "Start the cluster again", Do: workload.Revive, Tries: 3, Pause: 5 * time.Second},
		},
	}
}

// recordCopy says in the copy what it is: no operation is under way there, whatever runs here.
func recordCopy(ctx context.Context, n Ports, r Request) error {
	_, made, err := stateroot.Pair{Old: r.Old, New: r.New}.Deployments(ctx, n.Deployments)
	if err != nil {
		return err
	}
	return operation.WriteStateroot(n.Files, made,
		operation.Stateroot{MadeBy: FlowClone, Operation: r.OperationID, Made: n.Clock.Now().UTC()})
}

// Kind is the copy as an operation. A reboot starts the cluster, and an incomplete copy then disturbs no other operation.
func Kind(n Ports) operation.Kind[Request] {
	return operation.Kind[Request]{
		Name: FlowClone, RequestFile: RequestFile, Unit: Unit,
		Missing: operation.Refuse("no copy of a stateroot was requested"),
		WayOut: "The copy is complete, but the cluster does not run: reboot the node, or start it with " +
			"'systemctl unmask --runtime " + host.UnitKubelet + " && systemctl start " + host.UnitKubelet + "'",
		EndedBy: "'lca-cli stateroot abort'",
		ID:      func(r Request) string { return r.OperationID },
		Plan:    func(r Request, _ operation.Here) flow.Plan { return Plan(n, r) },
	}
}

// Run makes the copy that the request file describes, from wherever an earlier run ended.
func Run(ctx context.Context, n Ports, with operation.Instruments) error {
	return Kind(n).Run(ctx, n.toMachine(), with)
}

// Abort gives up a copy that is unfinished, and removes it. One that is whole already stays, and Abort only starts the cluster.
func Abort(ctx context.Context, n Ports, with operation.Instruments) (kept bool, err error) {
	kind := Kind(n)
	r, err := kind.Read(n.Files)
	if err != nil {
		return false, err
	}
	here, err := operation.Locate(ctx, n.Deployments, n.Power)
	if err != nil {
		return false, err
	}
	entries, err := operation.ReadEntries(n.Files, r.OperationID)
	if err != nil {
		return false, err
	}
	if flow.Fold(r.OperationID, entries).Flow(FlowClone).Committed {
		return true, kind.Continue(ctx, n.toMachine(), with, r, here)
	}
	return false, kind.Abort(ctx, n.toMachine(), with, r, here)
}

func (n Ports) toMachine() operation.Machine {
	return operation.Machine{Node: n.Node, Clock: n.Clock, Log: n.Log}
}
