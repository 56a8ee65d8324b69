package factory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
)

// requestFile holds the record of a preparation that is under way, and of one that is finished.
const requestFile = host.StateDir + "/relocation-prepare.json"

// Prepare checks the cluster and stores what a preparation is to do. An unfinished one is continued.
func Prepare(ctx context.Context, n Ports, id string, watchdog time.Duration) (relocation.Record, error) {
	if r, found, err := unfinished(n.Files); err != nil || found {
		return r, err
	}
	if r, err := relocation.ReadRecord(n.Files); !errors.Is(err, operation.ErrRefused) {
		if err == nil {
			err = operation.Refuse("this node was prepared at %s: boot it to use it, or undo that with 'lca-cli relocation cancel'",
				r.Prepared.UTC().Format(time.RFC3339))
		}
		return r, err
	}
	here, err := operation.Locate(ctx, n.Deployments, n.Power)
	if err != nil {
		return relocation.Record{}, err
	}
	facts, err := n.Cluster.Facts(ctx)
	if err != nil {
		return relocation.Record{}, fmt.Errorf("read the cluster's facts: %w", err)
	}
	if err := refuse(facts); err != nil {
		return relocation.Record{}, err
	}
	if err := n.Cluster.Healthy(ctx); err != nil {
		return relocation.Record{}, operation.Refuse("the cluster is not healthy, and a copy of it would not be either: %w", err)
	}
	r := relocation.Record{
		OperationID: id, Prepared: n.Clock.Now().UTC().Truncate(time.Second), Facts: facts,
		Factory: here.Booted.Stateroot, Site: relocation.StaterootName(id), WatchdogSeconds: int(watchdog.Seconds()),
	}
	return r, operation.WriteJSON(n.Files, requestFile, r)
}

// refuse says why a cluster cannot be relocated.
func refuse(f relocation.Facts) error {
	switch {
	case f.ControlPlaneNodes > 1 || f.OtherNodes > 0:
		return operation.Refuse("the cluster has %d control-plane nodes and %d others: only a single-node cluster can be relocated, "+
			"because others would not move with it", f.ControlPlaneNodes, f.OtherNodes)
	case len(f.Addresses) == 0:
		return operation.Refuse("the Node object has no internal address: wait until kubelet has reported one")
	case f.ClusterName == "" || f.BaseDomain == "":
		return operation.Refuse("the cluster does not say its name and base domain (ConfigMap kube-system/cluster-config-v1)")
	}
	return nil
}

// unfinished is the preparation whose flow has not ended.
func unfinished(files host.Files) (r relocation.Record, found bool, err error) {
	if _, err := files.Stat(requestFile); err != nil {
		return r, false, nil //nolint:nilerr // there is none
	}
	err = operation.ReadJSON(files, requestFile, &r)
	return r, err == nil, err
}

// Run carries the preparation out, from wherever an earlier run ended.
func Run(ctx context.Context, n Ports, with operation.Instruments) error {
	return RunWrapped(ctx, n, with, nil)
}

// RunWrapped is Run with a plan that tests may put a crash into.
func RunWrapped(ctx context.Context, n Ports, with operation.Instruments, wrap func(flow.Plan) flow.Plan) error {
	r, found, err := unfinished(n.Files)
	if err != nil {
		return err
	}
	if !found {
		return operation.Refuse("no preparation was requested")
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
func finish(n Ports, r relocation.Record, err error) error {
	var failed *flow.FailedError
	rolledBack := errors.As(err, &failed) && failed.RolledBack
	if err != nil && !rolledBack {
		return err
	}
	if rerr := n.Files.Remove(requestFile); rerr != nil {
		return errors.Join(err, fmt.Errorf("remove the request of %s: %w", r.OperationID, rerr))
	}
	return errors.Join(err, operation.Prune(n.Files, r.OperationID))
}

// Reservation reports whether a preparation is unfinished in this boot.
func Reservation(n Ports) host.Reservation {
	return host.Reservation{Flow: relocation.FlowPrepare, Unfinished: func(ctx context.Context) (host.Holder, bool, error) {
		r, found, err := unfinished(n.Files)
		if err != nil || !found {
			return host.Holder{}, false, err
		}
		return relocation.Holder(ctx, n.Node, relocation.FlowPrepare, r.OperationID, false)
	}}
}
