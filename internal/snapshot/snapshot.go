package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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

// RequestFile holds the request of the copy that is being made; it is removed when the flow has ended.
const RequestFile = host.StateDir + "/stateroot-clone.json"

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
		Skip: []string{"lib/lca/evidence", "lib/lca/journal", "lib/lca/workspace", "lib/lca/ipc.json", "lib/lca/stateroot-clone.json"}}
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
			{Name: StepFlush, Title: "Flush it to the disk", Do: func(ctx context.Context) error {
				if err := record(ctx, n, r); err != nil {
					return err
				}
				return n.Trees.Sync(host.DeployDir)
			}},
			{Name: StepStart, Title: "Start the cluster again", Do: workload.Revive, Tries: 3, Pause: 5 * time.Second},
		},
	}
}

// record says in the copy what it is: no operation is under way there, whatever runs here.
func record(ctx context.Context, n Ports, r Request) error {
	_, made, err := stateroot.Pair{Old: r.Old, New: r.New}.Deployments(ctx, n.Deployments)
	if err != nil {
		return err
	}
	return operation.WriteStateroot(n.Files, made,
		operation.Stateroot{MadeBy: FlowClone, Operation: r.OperationID, Made: n.Clock.Now().UTC()})
}

// Run makes the copy that the request file describes, from wherever an earlier run ended. The request file is removed
// once the flow has ended, in either way.
func Run(ctx context.Context, n Ports, with operation.Instruments) error {
	return run(ctx, n, with, nil)
}

func run(ctx context.Context, n Ports, with operation.Instruments, wrap func(flow.Plan) flow.Plan) error {
	r, err := ReadRequest(n.Files)
	if err != nil {
		return err
	}
	here, err := operation.Locate(ctx, n.Deployments, n.Power)
	if err != nil {
		return err
	}
	o := operation.Open(r.OperationID, here, operation.Ports{Files: n.Files, Clock: n.Clock, Log: n.Log}, with)
	o.Wrap = wrap
	return finish(n, r, o.Run(ctx, Plan(n, r)))
}

// finish removes the request of a flow that has ended.
func finish(n Ports, r Request, err error) error {
	var failed *flow.FailedError
	rolledBack := errors.As(err, &failed) && failed.RolledBack
	if err != nil && !rolledBack {
		return err
	}
	if rerr := n.Files.Remove(RequestFile); rerr != nil {
		return errors.Join(err, fmt.Errorf("remove the request of %s: %w", r.OperationID, rerr))
	}
	return errors.Join(err, operation.Prune(n.Files, operation.Kind{FlowClone}, r.OperationID))
}

// ReadRequest loads the request; the error matches operation.ErrRefused where there is none.
func ReadRequest(files host.Files) (r Request, err error) {
	err = operation.ReadJSON(files, RequestFile, &r)
	if errors.Is(err, fs.ErrNotExist) {
		return r, operation.Refuse("no copy of a stateroot was requested")
	}
	return r, err
}

// Reservation reports whether a copy is unfinished in this boot: the cluster may be stopped for it. A reboot starts the
// cluster, and an incomplete copy then disturbs no other operation.
func Reservation(n Ports) host.Reservation {
	return host.Reservation{Flow: FlowClone, Unfinished: func(ctx context.Context) (host.Holder, bool, error) {
		r, err := ReadRequest(n.Files)
		if errors.Is(err, operation.ErrRefused) {
			return host.Holder{}, false, nil
		}
		if err != nil {
			return host.Holder{}, false, err
		}
		entries, err := operation.ReadEntries(n.Files, r.OperationID)
		if err != nil {
			return host.Holder{}, false, err
		}
		boot, err := n.Power.BootID(ctx)
		if err != nil {
			return host.Holder{}, false, fmt.Errorf("read the boot id: %w", err)
		}
		f := flow.Fold(r.OperationID, entries).Flow(FlowClone)
		phase, since := operation.Phase(FlowClone, f)
		h := host.Holder{Operation: FlowClone + " " + r.OperationID, Phase: phase, Boot: boot, Since: since}
		return h, f.Running() && f.Boot == boot, nil
	}}
}
