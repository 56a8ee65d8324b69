package factory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"strings"
	"time"

	"go4.org/netipx"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
)

// requestFile holds the record of a preparation that is under way, and of one that is finished.
const requestFile = host.StateDir + "/relocation-prepare.json"

// Wanted is what a preparation is asked for.
type Wanted struct {
	// Watchdog is how long a reconfiguration may take on site; 0 for the default.
	Watchdog time.Duration
	// ShelfDays is how long the node may be switched off; 0 checks no certificate.
	ShelfDays int
	// Internal is the node's known address on its network port, for a technician's laptop; the zero value for that of the
	// MachineConfig, or none.
	Internal netip.Prefix
}

// Prepare checks the cluster and stores what a preparation is to do. An unfinished one is continued.
func Prepare(ctx context.Context, n Ports, id string, want Wanted) (relocation.Record, error) {
	here, err := operation.Locate(ctx, n.Deployments, n.Power)
	if err != nil {
		return relocation.Record{}, err
	}
	kind := Kind(n)
	if r, found, err := kind.Underway(ctx, n.Machine().Intake()); err != nil || found {
		return r, errors.Join(err, checkStateroot(r, here))
	}
	if err := n.checkNotPrepared(here); err != nil {
		return relocation.Record{}, err
	}
	facts, err := n.Cluster.Facts(ctx)
	if err != nil {
		return relocation.Record{}, fmt.Errorf("read the cluster's facts: %w", err)
	}
	if err := checkRelocatable(facts); err != nil {
		return relocation.Record{}, err
	}
	if err := n.Cluster.Healthy(ctx); err != nil {
		return relocation.Record{}, operation.Refuse("the cluster is not healthy, and a copy of it would not be either: %w", err)
	}
	if err := n.checkShelfLife(ctx, want.ShelfDays); err != nil {
		return relocation.Record{}, err
	}
	internal, err := InternalAddress(n.Files, want.Internal)
	if err != nil {
		return relocation.Record{}, err
	}
	uplink, err := n.Switch.Uplink(ctx, host.BridgeExternal)
	if err != nil {
		n.Log.Warn("the network port below the bridge is not known; laptops get no address from this node",
			"bridge", host.BridgeExternal, "error", err)
	}
	r := relocation.Record{
		OperationID: id, Prepared: n.Clock.Now().UTC().Truncate(time.Second), Facts: facts,
		Factory: here.Booted.Stateroot, Site: relocation.StaterootName(id), WatchdogSeconds: int(want.Watchdog.Seconds()),
		Uplink: uplink, Internal: internal,
	}
	return r, kind.Store(ctx, n.Machine().Intake(), r)
}

// checkShelfLife refuses a cluster with a certificate that ends on the shelf and that the reconfiguration on site does not renew.
func (n Ports) checkShelfLife(ctx context.Context, days int) error {
	if days <= 0 {
		return nil
	}
	all, err := n.Cluster.Certificates(ctx)
	if err != nil {
		return fmt.Errorf("read the cluster's certificates: %w", err)
	}
	lost := relocation.NotRenewed(relocation.EndingBefore(all, relocation.ShelfEnd(n.Clock.Now(), days)))
	if len(lost) == 0 {
		return nil
	}
	return operation.Refuse("%d of the cluster's certificates end within %d days and are not renewed on site, because the key of their "+
		"authority is not in the cluster: %s. Replace them, or give a smaller --shelf-days", len(lost), days, relocation.Listed(lost))
}

// InternalAddress is the node's known address: the one that is named, that of the node's MachineConfig, or none.
func InternalAddress(files host.Files, named netip.Prefix) (netip.Prefix, error) {
	if named.IsValid() {
		return named, CheckInternal(named)
	}
	data, err := files.Read(relocation.InternalFile)
	if errors.Is(err, fs.ErrNotExist) {
		return netip.Prefix{}, nil
	}
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("read the internal address: %w", err)
	}
	p, err := netip.ParsePrefix(strings.TrimSpace(string(data)))
	if err != nil {
		return p, operation.Refuse("%s: %w", relocation.InternalFile, err)
	}
	return p, CheckInternal(p)
}

// CheckInternal refuses an address that leaves no room for a laptop beside the node.
func CheckInternal(p netip.Prefix) error {
	switch {
	case !p.Addr().Is4():
		return operation.Refuse("internal address %s: it must be an IPv4 address with its prefix length, such as 192.0.2.1/29", p)
	case p.Bits() > 30 || p.Bits() < 16:
		return operation.Refuse("internal address %s: the prefix length must be 16 to 30, so that a laptop fits beside the node", p)
	case p.Addr() == p.Masked().Addr() || p.Addr() == netipx.PrefixLastIP(p):
		return operation.Refuse("internal address %s is the address of the network itself, or its broadcast address", p)
	}
	return nil
}

// checkStateroot refuses a preparation of another stateroot than the one that runs: its steps would write over the running system.
func checkStateroot(r relocation.Record, here operation.Here) error {
	if r.Factory == here.Booted.Stateroot && r.Site != here.Booted.Stateroot {
		return nil
	}
	return operation.Refuse("the preparation %s was begun in stateroot %s, and %s runs: it can only be continued there",
		r.OperationID, r.Factory, here.Booted.Stateroot)
}

// checkNotPrepared refuses a node that is on its way already.
func (n Ports) checkNotPrepared(here operation.Here) error {
	r, err := relocation.ReadRecord(n.Files)
	switch {
	case errors.Is(err, operation.ErrRefused):
		return nil
	case err != nil:
		return err
	case here.Booted.Stateroot == r.Factory:
		return operation.Refuse("this node was prepared at %s: switch it off to ship it, or undo that with 'lca-cli relocation abort'",
			r.Prepared.UTC().Format(time.RFC3339))
	}
	return operation.Refuse("this node has left the factory: stateroot %s runs, prepared at %s. Give the factory state up with "+
		"'lca-cli relocation commit' before it is prepared for another site", here.Booted.Stateroot, r.Prepared.UTC().Format(time.RFC3339))
}

// checkRelocatable says why a cluster cannot be relocated.
func checkRelocatable(f relocation.Facts) error {
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

// Kind is the preparation as an operation.
func Kind(n Ports) operation.Kind[relocation.Record] {
	return operation.Kind[relocation.Record]{
		Name: relocation.FlowPrepare, Flows: relocation.Flows(), RequestFile: requestFile, Unit: relocation.UnitPrepare,
		Missing: operation.Refuse("no preparation was requested"),
		WayOut: "The node is prepared and can be switched off to ship it, but the factory's cluster does not run now: " +
			"to have it back, undo the preparation with 'lca-cli relocation abort'",
		EndedBy: "'lca-cli relocation abort'",
		ID:      func(r relocation.Record) string { return r.OperationID },
		Admit:   checkStateroot,
		Plan:    func(r relocation.Record, _ operation.Here) flow.Plan { return Plan(n, r) },
		Spared:  relocation.Spared,
	}
}

// Run carries the preparation out, from wherever an earlier run ended.
func Run(ctx context.Context, n Ports, with operation.Instruments) error {
	return Kind(n).Run(ctx, n.Machine(), with)
}

// Machine is the node that a preparation runs on.
func (n Ports) Machine() operation.Machine {
	return operation.Machine{Node: n.Node, Clock: n.Clock, Log: n.Log}
}
