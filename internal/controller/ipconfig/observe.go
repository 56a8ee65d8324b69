package ipconfig

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// observation is everything a decision rests on. Nothing in it was changed by looking.
type observation struct {
	now time.Time

	// The cluster and its network. What could not be seen this time is kept from
	// status, and blind says why.
	topology      *cluster.TopologyError
	installConfig cluster.InstallConfig
	current       ipconfig.Current
	uplink        ipconfig.Uplink
	blind         string

	// The node.
	deployments []host.Deployment
	booted      host.Deployment
	// ours are the stateroots of this product that do not run.
	ours      []string
	bootID    string
	workspace []string
	units     map[string]host.UnitState

	// busy names who has the node's lock, if that is none of the units above.
	busy *host.Holder

	// The operation prepared on the node; nil when there is none, or none that can be read:
	// unreadable then says why.
	request    *ipconfig.Request
	unreadable string

	progress ipconfig.Progress
	// foretold is what pre-pivot found recert is going to rewrite; nil where it has not.
	foretold *ipconfig.Counts
	entries  []flow.Entry
	evidence []string
	// returnUntil is when certificates of the old stateroot begin to expire; zero where
	// that is not known or was reported before.
	returnUntil time.Time
}

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

// seeCluster reads the node object and the install-config.
func (r *Reconciler) seeCluster(ctx context.Context, ipc *lcav1.IPConfig, o *observation) error {
	o.current.IPv4, o.current.IPv6 = ipc.Status.IPv4.DeepCopy(), ipc.Status.IPv6.DeepCopy()
	ic, err := cluster.ReadInstallConfig(ctx, r.Reader)
	if err != nil {
		return err
	}
	o.installConfig = ic
	node, err := cluster.SingleNode(ctx, r.Reader)
	if errors.As(err, &o.topology) {
		err = nil // a refusal for validation to make, not a reason to wait
	}
	if node == nil {
		return err
	}
	o.current.IPv4, o.current.IPv6 = cluster.Addresses(node, ic)
	return nil
}

// seeNetwork reads what runs on the node: gateways, DNS, VLAN, uplink, filter.
func (r *Reconciler) seeNetwork(ctx context.Context, ipc *lcav1.IPConfig, o *observation) error {
	keep := func(err error) error {
		o.current.DNSServers, o.current.VLANID = ipc.Status.DNSServers, ipc.Status.VLANID
		o.current.FilterFamily = ipc.Status.DNSFilterOutFamily
		keepGateway(o.current.IPv4, ipc.Status.IPv4)
		keepGateway(o.current.IPv6, ipc.Status.IPv6)
		return err
	}
	doc, err := r.Node.Network.Observe(ctx)
	if err != nil {
		return keep(fmt.Errorf("observe network: %w", err))
	}
	filter, err := readFilter(r.Node.Files)
	if err != nil {
		return keep(err)
	}
	o.current.FilterFamily = filter
	o.current.Describe(doc)
	o.uplink = uplinkOf(doc, o.current)
	return nil
}

func keepGateway(now, before *lcav1.IPStatus) {
	if now != nil && before != nil {
		now.Gateway = before.Gateway
	}
}

// readFilter tells which records dnsmasq leaves out, from the file lca-cli manages.
func readFilter(files host.Files) (lcav1.DNSFilterFamily, error) {
	data, err := files.Read(host.DnsmasqFilter)
	if errors.Is(err, fs.ErrNotExist) {
		return lcav1.DNSFilterNone, nil
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", host.DnsmasqFilter, err)
	}
	for line := range strings.Lines(string(data)) {
		switch strings.TrimSpace(line) {
		case "filter-AAAA":
			return lcav1.DNSFilterIPv6, nil
		case "filter-A":
			return lcav1.DNSFilterIPv4, nil
		}
	}
	return lcav1.DNSFilterNone, nil
}

// inNew says that the node runs the stateroot the operation made.
func (o observation) inNew() bool {
	return o.request != nil && o.booted.Stateroot == o.request.NewStateroot
}

// inOld says that the node runs the stateroot the operation started from.
func (o observation) inOld() bool {
	return o.request != nil && o.booted.Stateroot == o.request.OldStateroot
}

// canReturn says that the old stateroot of the operation is still there to boot.
func (o observation) canReturn() bool {
	if !o.inNew() {
		return false
	}
	_, ok := host.FirstOf(o.deployments, o.request.OldStateroot)
	return ok
}

// cameBack says that the node runs the old stateroot after it had been told to leave it.
func (o observation) cameBack() bool {
	if !o.inOld() || !o.progress.PrePivot.Committed && !o.progress.Rollback.Begun {
		return false
	}
	last, ok := o.last(ipconfig.FlowPrePivot)
	return o.progress.Rollback.Begun || ok && last.Boot != o.bootID
}

// last is the flow's last entry in the journal.
func (o observation) last(name string) (flow.Entry, bool) {
	for _, e := range slices.Backward(o.entries) {
		if e.Flow == name && e.Kind != flow.KindNote {
			return e, true
		}
	}
	return flow.Entry{}, false
}

// leftovers says, in words, what a cleanup would have to remove; empty is nothing.
func (o observation) leftovers() []string {
	found := slices.Clone(o.ours)
	if o.canReturn() {
		found = append(found, o.request.OldStateroot)
	}
	if len(o.workspace) > 0 {
		found = append(found, host.Workspace)
	}
	return found
}
