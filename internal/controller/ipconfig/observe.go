package ipconfig

import (
	"context"
	"errors"
	"fmt"
	"strings"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// watchedUnits are those through which lca-cli runs.
func watchedUnits() []string {
	return []string{host.UnitPrePivot, host.UnitRollback, host.UnitCleanup, host.UnitIPConfiguration}
}

// observe looks at node and cluster. An error means that the node itself could not be
// read, without which nothing can be decided.
func (r *Reconciler) observe(ctx context.Context, ipc *lcav1.IPConfig) (observation, error) {
	o := observation{now: r.Now()}
	// Units first: what a unit that is seen at rest has done is then seen as well.
	for _, look := range []func(context.Context, *observation) error{
		r.seeUnits, r.seeHolder, r.seeDeployments, r.seeWorkspace, r.seeOperation,
	} {
		if err := look(ctx, &o); err != nil {
			return o, err
		}
	}
	r.seeExpiry(ctx, ipc, &o)
	if err := errors.Join(r.seeCluster(ctx, ipc, &o), r.seeNetwork(ctx, ipc, &o)); err != nil {
		o.blind = oneLine(err.Error())
	}
	return o, nil
}

func (r *Reconciler) seeDeployments(ctx context.Context, o *observation) error {
	all, err := r.Node.Deployments.List(ctx)
	if err != nil {
		return fmt.Errorf("list deployments: %w", err)
	}
	if o.booted, err = host.Booted(all); err != nil {
		return err
	}
	o.deployments = all
	roots, err := r.Node.Deployments.Stateroots(ctx)
	if err != nil {
		return fmt.Errorf("list stateroots: %w", err)
	}
	for _, root := range roots {
		if strings.HasPrefix(root, ipconfig.StaterootPrefix) && root != o.booted.Stateroot {
			o.ours = append(o.ours, root)
		}
	}
	return nil
}

func (r *Reconciler) seeUnits(ctx context.Context, o *observation) error {
	o.units = map[string]host.UnitState{}
	for _, unit := range watchedUnits() {
		state, err := r.Node.Units.State(ctx, unit)
		if err != nil {
			return fmt.Errorf("state of unit %s: %w", unit, err)
		}
		o.units[unit] = state
	}
	return nil
}

// seeHolder looks who has the node. lca-cli as it runs for the operator is no stranger.
func (r *Reconciler) seeHolder(ctx context.Context, o *observation) error {
	for _, state := range o.units {
		if state.Running() {
			return nil
		}
	}
	h, held, err := r.Node.Lock.Holder(ctx)
	if err != nil {
		return fmt.Errorf("look who holds the node: %w", err)
	}
	if held {
		o.busy = &h
	}
	return nil
}

func (r *Reconciler) seeWorkspace(_ context.Context, o *observation) error {
	names, err := r.Node.Files.List(host.Workspace)
	if err != nil {
		return fmt.Errorf("list workspace: %w", err)
	}
	boot, err := r.Node.Files.Read(host.BootIDFile)
	if err != nil {
		return fmt.Errorf("read boot id: %w", err)
	}
	o.workspace, o.bootID = names, strings.TrimSpace(string(boot))
	return nil
}

// seeOperation reads the request, if there is one, and its journal.
func (r *Reconciler) seeOperation(_ context.Context, o *observation) error {
	request, _, err := ipconfig.FindRequest(r.Node.Files, o.deployments)
	switch {
	case errors.Is(err, ipconfig.ErrNoRequest):
		return nil
	case errors.Is(err, ipconfig.ErrBadRequest):
		o.unreadable = oneLine(err.Error())
		return nil
	case err != nil:
		return err
	}
	o.request = &request
	if o.entries, err = ipconfig.ReadEntries(r.Node.Files, request.OperationID); err != nil {
		return fmt.Errorf("journal of operation %s: %w", request.OperationID, err)
	}
	o.progress = ipconfig.Project(request.OperationID, o.entries)
	if counts, found := ipconfig.ReadForecast(r.Node.Files); found {
		o.foretold = &counts
	}
	o.evidence = ipconfig.EvidenceOf(r.Node.Files, request.OperationID)
	return nil
}
