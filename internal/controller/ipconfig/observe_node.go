package ipconfig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/nodejob"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/network"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// Node is the node the operator runs on. Where the operator may use part of a port only, the rest is lca-cli's.
type Node struct {
	Files       host.Files
	Disk        stateroot.Disk
	Deployments Deployments
	OneTimeBoot OneTimeBoot
	Network     Network
	Kernel      Kernel
	Units       Units
	Transients  host.Transients
	Prober      Prober
	Lock        Lock
}

// Deployments is the operator's part of host.Deployments.
type Deployments interface {
	List(ctx context.Context) ([]host.Deployment, error)
	Stateroots(ctx context.Context) ([]string, error)
	CanSetDefault(ctx context.Context) error
	KernelArguments(ctx context.Context) ([]string, error)
}

// OneTimeBoot is the operator's part of host.OneTimeBoot.
type OneTimeBoot interface {
	Usable(ctx context.Context) error
}

// Network is the operator's part of host.Network.
type Network interface {
	Observe(ctx context.Context) (netstate.Document, error)
}

// Kernel is the operator's part of host.NetworkPlanner.
type Kernel interface {
	CheckKernel(want netstate.Document) error
}

// Prober is the operator's part of host.Prober.
type Prober interface {
	InUse(ctx context.Context, addr netip.Prefix, ifaces ...string) (host.Claim, error)
}

// Units is the operator's part of host.Units: to observe lca-cli, to abort it, and to disarm the watchdog.
type Units interface {
	State(ctx context.Context, unit string) (host.UnitState, error)
	Stop(ctx context.Context, unit string) error
	Disable(ctx context.Context, unit string) error
}

// Lock is the operator's part of host.NodeLock: lca-cli takes it.
type Lock interface {
	Holder(ctx context.Context) (h host.Holder, held bool, err error)
}

// observation is everything a decision rests on.
type observation struct {
	now time.Time

	// The cluster and its network. What cannot be observed is kept from status, and unobserved says why.
	topology      *cluster.TopologyError
	installConfig cluster.InstallConfig
	current       ipconfig.Current
	uplink        network.Uplink
	unobserved    *status.Blocked

	// The node.
	deployments []host.Deployment
	booted      host.Deployment
	// record is that of the stateroot that runs; zero where there is none.
	record operation.Stateroot
	// unbooted are the stateroots of IP changes that do not run, leftover those of them that are to be removed.
	unbooted []string
	leftover []string
	// remains are stateroots that a cleanup could not remove whole.
	remains   ipconfig.Remains
	bootID    string
	workspace []string
	units     map[string]host.UnitState

	// holder has the node's lock, if that is none of the units above.
	holder *host.Holder

	// rehearsal is the report of the latest one; nil where there is none that can be read.
	rehearsal *lcav1.Rehearsal

	// The operation prepared on the node; nil when there is none, or none that can be read:
	// unreadable then says why.
	request    *ipconfig.Request
	unreadable string

	// exported is ipc.json, where it is of this operation.
	exported *lcav1.IPConfig

	progress ipconfig.Progress
	auto     ipconfig.AutoRollback
	// forecast is what recert is going to rewrite; nil until pre-pivot has counted.
	forecast *change.Counts
	entries  []flow.Entry
	evidence []string
	// lastResort: the units of the new stateroot went back without lca-cli.
	lastResort bool
	// waiting is what post-pivot last waited for; nil where it had to wait for nothing.
	waiting *ipconfig.Waiting
	// unproved is why the old system runs again where the new one was to boot once; empty otherwise.
	unproved string
	// rollbackUntil is when certificates of the old stateroot begin to expire; zero where
	// that is not known or was reported before.
	rollbackUntil time.Time
}

// observeNode reads the node, without which nothing can be decided. Units come first, so that what a unit at rest has
// written is read after it.
func (r *Reconciler) observeNode(ctx context.Context) (observation, error) {
	o := observation{now: r.Now()}
	for _, read := range []func(context.Context, *observation) error{
		r.observeUnits, r.observeHolder, r.observeDeployments, r.observeWorkspace, r.observeOperation, r.observeExport,
		r.observeRehearsal,
	} {
		if err := read(ctx, &o); err != nil {
			return o, err
		}
	}
	return o, nil
}

func (r *Reconciler) observeUnits(ctx context.Context, o *observation) (err error) {
	o.units, err = nodejob.Observe(ctx, r.Node.Units,
		ipconfig.UnitPrePivot, ipconfig.UnitRollback, ipconfig.UnitCleanup, ipconfig.UnitIPConfiguration)
	return err
}

// observeHolder reads who has the node's lock. While a unit above runs, that is lca-cli on behalf of the operator.
func (r *Reconciler) observeHolder(ctx context.Context, o *observation) error {
	for _, state := range o.units {
		if state.Running() {
			return nil
		}
	}
	h, held, err := r.Node.Lock.Holder(ctx)
	if err != nil {
		return fmt.Errorf("read the holder of the node's lock: %w", err)
	}
	if held {
		o.holder = &h
	}
	return nil
}

func (r *Reconciler) observeDeployments(ctx context.Context, o *observation) error {
	all, err := r.Node.Deployments.List(ctx)
	if err != nil {
		return fmt.Errorf("list deployments: %w", err)
	}
	if o.booted, err = host.Booted(all); err != nil {
		return fmt.Errorf("find the booted deployment: %w", err)
	}
	o.deployments = all
	if o.record, _, err = operation.ReadStateroot(r.Node.Files, o.booted); err != nil {
		r.Log.Warn("the record of the stateroot that runs cannot be read", "stateroot", o.booted.Stateroot, "error", err)
	}
	roots, err := r.Node.Deployments.Stateroots(ctx)
	if err != nil {
		return fmt.Errorf("list stateroots: %w", err)
	}
	if o.remains, err = ipconfig.ReadRemains(r.Node.Files); err != nil {
		r.Log.Warn("what earlier cleanups left cannot be read", "error", err)
	}
	maps.DeleteFunc(o.remains, func(root, _ string) bool {
		_, deployed := host.FirstOf(all, root)
		return deployed || !slices.Contains(roots, root) // deployed anew, or removed by hand
	})
	for _, root := range roots {
		if !strings.HasPrefix(root, ipconfig.StaterootPrefix) || root == o.booted.Stateroot {
			continue
		}
		o.unbooted = append(o.unbooted, root)
		if _, held := o.remains[root]; !held && ipconfig.Leftover(r.Node.Files, all, o.booted, root) {
			o.leftover = append(o.leftover, root)
		}
	}
	return nil
}

func (r *Reconciler) observeWorkspace(_ context.Context, o *observation) error {
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

// observeOperation reads the request, if there is one, and its journal.
func (r *Reconciler) observeOperation(_ context.Context, o *observation) error {
	request, _, err := ipconfig.FindRequest(r.Node.Files, o.deployments)
	switch {
	case errors.Is(err, ipconfig.ErrNoRequest):
		return nil
	case errors.Is(err, ipconfig.ErrBadRequest):
		o.unreadable = status.OneLine(err.Error())
		return nil
	case err != nil:
		return fmt.Errorf("read the request: %w", err)
	}
	o.request = &request
	if o.entries, err = operation.ReadEntries(r.Node.Files, request.OperationID); err != nil {
		return fmt.Errorf("read the journal of operation %s: %w", request.OperationID, err)
	}
	o.progress = ipconfig.Project(flow.Fold(request.OperationID, o.entries))
	if o.auto, err = ipconfig.ReadAutoRollback(r.Node.Files); err != nil {
		r.Log.Debug("the settings of the automatic rollback cannot be read; it stays on", "error", err)
	}
	if counts, found := change.ReadForecast(r.Node.Files); found {
		o.forecast = &counts
	}
	o.evidence = operation.Records(r.Node.Files, request.OperationID)
	if o.inOld() {
		o.unproved = change.UnprovedReturn(r.Node.Files, request, o.progress, o.bootID)
	}
	_, err = r.Node.Files.Stat(ipconfig.LastResortLog)
	o.lastResort = err == nil
	if w, found, err := ipconfig.ReadWaiting(r.Node.Files, request.OperationID); err == nil && found {
		o.waiting = &w
	}
	return nil
}

// observeExport reads ipc.json. A file of another operation, or one that cannot be decoded, is stale and counts for nothing.
func (r *Reconciler) observeExport(_ context.Context, o *observation) error {
	data, err := r.Node.Files.Read(ipconfig.SavedObjectFile)
	if errors.Is(err, fs.ErrNotExist) || o.request == nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", ipconfig.SavedObjectFile, err)
	}
	exported := &lcav1.IPConfig{}
	if json.Unmarshal(data, exported) == nil && exported.Status.OperationID == o.request.OperationID {
		o.exported = exported
	}
	return nil
}

// inNew says that the node runs the stateroot the operation made.
func (o observation) inNew() bool {
	return o.request != nil && o.booted.Stateroot == o.request.NewStateroot
}

// inOld says that the node runs the stateroot the operation started from.
func (o observation) inOld() bool {
	return o.request != nil && o.booted.Stateroot == o.request.OldStateroot
}

// canRollBack says that the new stateroot runs and the old one is there to boot.
func (o observation) canRollBack() bool {
	if !o.inNew() {
		return false
	}
	_, ok := stateroot.BackBy(o.record, o.request.OldStateroot)(o.deployments)
	return ok
}

// isProved says that the change which made the running stateroot is on record as proved.
func (o observation) isProved() bool {
	return o.inNew() && o.record.Operation == o.request.OperationID && !o.record.Confirmed.IsZero()
}

// hasReturned says that the old stateroot runs after the node was to leave, or left, it.
func (o observation) hasReturned() bool {
	if !o.inOld() || !o.progress.PrePivot.Committed && !o.progress.Rollback.Begun {
		return false
	}
	last, ok := o.lastEntry(ipconfig.FlowPrePivot)
	return o.progress.Rollback.Begun || ok && last.Boot != o.bootID
}

// lastEntry returns the flow's last entry in the journal.
func (o observation) lastEntry(name string) (flow.Entry, bool) {
	for _, e := range slices.Backward(o.entries) {
		if e.Flow == name && e.Kind != flow.KindNote {
			return e, true
		}
	}
	return flow.Entry{}, false
}

// leftovers names what a cleanup would remove.
func (o observation) leftovers() []string {
	found := slices.Clone(o.leftover)
	if o.canRollBack() {
		found = append(found, o.request.OldStateroot)
	}
	if made := o.request; o.inOld() && o.remains[made.NewStateroot] == "" && slices.Contains(o.unbooted, made.NewStateroot) &&
		!slices.Contains(found, made.NewStateroot) {
		found = append(found, made.NewStateroot)
	}
	if len(o.workspace) > 0 {
		found = append(found, host.Workspace)
	}
	return found
}
