package create

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// Cluster is the node's own API server.
type Cluster interface {
	// Ready reports whether it answers and serves the node's object.
	Ready(ctx context.Context) error
}

// Ports is what main gives the flow.
type Ports struct {
	host.Node
	Archives   host.Archives
	Registries host.Registries
	Copies     host.SystemCopies
	Reports    host.SystemReports
	Cluster    Cluster
	Clock      flow.Clock
	Log        *slog.Logger
}

// maxAttempts is how often a generation is begun before it is given up.
const maxAttempts = 5

// generation makes one image.
type generation struct {
	Ports
	request seed.Request
	booted  host.Deployment
}

// Plan lists the steps. Nothing of the running system changes but that it stands still between quiesce and start-cluster;
// kubelet's mask is in /run, so a power cut starts the cluster. A complete copy outlives a reboot. The image is there from
// publish on; after it only the cluster's return remains to be awaited.
func Plan(n Ports, r seed.Request, booted host.Deployment) flow.Plan {
	g := &generation{n, r, booted}
	workload := stateroot.Workload{Units: n.Units, Masks: n.Masks, Containers: n.Containers}
	quiesce := stateroot.Quiesce(workload)
	quiesce.Check = g.isCaptured
	return flow.Plan{
		Name: seed.FlowCreate, Commit: seed.StepPublish, MaxAttempts: maxAttempts, AcrossBoots: true,
		Steps: []flow.Step{
			// No undo: it only asks.
			{Name: seed.StepCheck, Title: "Check request, registry and room", Again: true, Do: g.checkRequest, Tries: 3,
				Pause: 5 * time.Second},
			{Name: seed.StepCollect, Title: "Collect what the system reports", Do: g.collectContents, Undo: g.removeCopy},
			{Name: seed.StepCopyLive, Title: "Copy the state while the cluster runs", Check: g.isCaptured, Do: g.copyLive,
				Undo: g.removeCopy},
			quiesce,
			// Its undo is that of copy-while-running.
			{Name: seed.StepCapture, Title: "Copy what changed since", Check: g.isCaptured, Do: g.captureState},
			// Its undo is that of quiesce.
			{Name: seed.StepStart, Title: "Start the cluster again", Do: workload.Revive, Tries: 3, Pause: 5 * time.Second},
			// From here on only the copy is touched.
			{Name: seed.StepExpire, Title: "Remove from the copy what must not ship", Do: g.expireCopy},
			// A layer in the registry without an image does no harm; the registry collects it.
			{Name: seed.StepPublish, Title: "Publish the image", Do: g.publishImage, Tries: 3, Pause: 30 * time.Second},
			{Name: seed.StepAwaitCluster, Title: "Wait for the cluster", Again: true, Do: g.awaitCluster},
			{Name: seed.StepWipe, Title: "Remove the copy and the credentials", Again: true, Do: g.wipeCopy},
		},
	}
}

// Kind is the generation as an operation. Its reservation is that of the agent's record, which holds the node until the cluster is
// healthy again.
func Kind(n Ports) operation.Kind[seed.Request] {
	k := seed.CreateKind()
	k.Plan = func(r seed.Request, here operation.Here) flow.Plan { return Plan(n, r, here.Booted) }
	return k
}

// Run makes the image that the request file describes, from wherever an earlier run ended.
func Run(ctx context.Context, n Ports, with operation.Instruments) error {
	return runOrAbort(ctx, n, with, nil, false)
}

// Abort gives an unfinished generation up: it removes the copy and starts the cluster. One that is published already
// stays, and Abort only completes it.
func Abort(ctx context.Context, n Ports, with operation.Instruments) error {
	return runOrAbort(ctx, n, with, nil, true)
}

// runOrAbort carries the flow on, or gives it up. Where it neither ends nor goes on, the cluster is started: a generation that cannot be
// continued must not hold it.
func runOrAbort(ctx context.Context, n Ports, with operation.Instruments, wrap func(flow.Plan) flow.Plan, abort bool) error {
	r, err := findRequest(ctx, n, abort)
	if err == nil {
		if err = carryOn(ctx, n, r, with, wrap, abort); flow.EndingOf(err).Ended() {
			return err
		}
	}
	if errors.Is(err, flow.ErrLeaving) {
		return err
	}
	if rerr := reviveCluster(context.WithoutCancel(ctx), n); rerr != nil {
		err = errors.Join(err, fmt.Errorf("start the cluster: %w", rerr))
	}
	if errors.Is(err, seed.ErrNoRequest) {
		return operation.Refuse("%w", err)
	}
	return err
}

// findRequest loads the request. One that cannot be read can be given up by its journal; where that shows nothing under way it is removed.
func findRequest(ctx context.Context, n Ports, abort bool) (seed.Request, error) {
	kind := seed.CreateKind()
	if !abort {
		r, err := kind.Read(n.Files)
		if err != nil && !errors.Is(err, seed.ErrNoRequest) {
			err = fmt.Errorf("%w; %s ends what is under way of it", err, kind.EndedBy)
		}
		return r, err
	}
	r, found, damage, err := kind.FindToEnd(ctx, n.machine().Intake())
	if damage != nil && err == nil {
		n.Log.Warn("the request cannot be read; what its journal shows under way is given up", "op", r.OperationID,
			"file", kind.RequestFile, "error", damage)
	}
	switch {
	case err != nil:
		return r, errors.Join(damage, err)
	case !found && damage != nil:
		return r, errors.Join(seed.ErrNoRequest, kind.Forget(n.Files, r))
	case !found:
		return r, seed.ErrNoRequest
	}
	return r, nil
}

// machine is the node that a generation runs on.
func (n Ports) machine() operation.Machine {
	return operation.Machine{Node: n.Node, Clock: n.Clock, Log: n.Log}
}

func carryOn(
	ctx context.Context, n Ports, r seed.Request, with operation.Instruments, wrap func(flow.Plan) flow.Plan, abort bool,
) error {
	here, err := operation.Locate(ctx, n.Deployments, n.Power)
	if err != nil {
		return err
	}
	kind, m := Kind(n), n.machine()
	kind.Wrap = wrap
	if p, err := seed.ReadProgress(n.Files, r.OperationID); !abort || err == nil && p.Published() {
		return kind.Continue(ctx, m, with, r, here)
	}
	return kind.Abort(ctx, m, with, r, here)
}

// reviveCluster starts the cluster if a generation has stopped it. A copy is the trace of one; without it others may have masked kubelet.
func reviveCluster(ctx context.Context, n Ports) error {
	if names, err := n.Files.List(seed.CopiesDir); err == nil && len(names) == 0 {
		return nil
	}
	w := stateroot.Workload{Units: n.Units, Masks: n.Masks, Containers: n.Containers}
	return w.ReviveStopped(ctx)
}

// removeCopy removes the copy.
func (g *generation) removeCopy(context.Context) error {
	if err := g.Files.Remove(g.copyDir()); err != nil {
		return fmt.Errorf("remove the copy: %w", err)
	}
	return nil
}

func (g *generation) wipeCopy(ctx context.Context) error { return g.removeCopy(ctx) }

// copyDir has the folder of the copy (system) and what was collected (contents).
func (g *generation) copyDir() string     { return seed.CopyDir(g.request.OperationID) }
func (g *generation) systemDir() string   { return path.Join(g.copyDir(), "system") }
func (g *generation) contentsDir() string { return path.Join(g.copyDir(), "contents") }

// markFile says that the copy is complete.
func (g *generation) markFile() string { return path.Join(g.copyDir(), "captured.json") }

// capturedMark is what mark holds.
type capturedMark struct {
	Reflinked bool `json:"reflinked"`
}

// isCaptured reports that the cluster need not be stopped: the copy is complete, or was and is no longer needed.
func (g *generation) isCaptured(context.Context) (bool, error) {
	if done, err := g.isPublished(); err != nil || done {
		return done, err
	}
	_, err := g.Files.Stat(g.markFile())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// isPublished reports that the image is in the registry, and only the end of the flow is missing.
func (g *generation) isPublished() (bool, error) {
	p, err := seed.ReadProgress(g.Files, g.request.OperationID)
	return p.Published(), err
}

const (
	clusterTimeout  = 30 * time.Minute
	clusterInterval = 2 * time.Second
)

// awaitCluster waits until the cluster answers. Whether it is healthy is for the agent to judge, which runs in it.
func (g *generation) awaitCluster(ctx context.Context) error {
	deadline := g.Clock.Now().Add(clusterTimeout)
	for {
		err := g.Cluster.Ready(ctx)
		if err == nil {
			return nil
		}
		if g.Clock.Now().After(deadline) {
			return fmt.Errorf("the image is published, but the cluster did not come back within %s: %w", clusterTimeout, err)
		}
		if serr := g.Clock.Sleep(ctx, clusterInterval); serr != nil {
			return errors.Join(err, serr)
		}
	}
}
