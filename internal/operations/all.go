// Package operations lists every kind of operation that a node can have. What concerns all of them is derived from the list: the
// node's lock, what must-gather collects, the page of flows, and the proof that each has a crash matrix.
package operations

import (
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/rehearsal"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/factory"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/onsite"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/create"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/record"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/restore"
	"github.com/lifecycle-agent/lifecycle-agent/internal/snapshot"
)

// All lists the kinds, in the order of the page of flows.
func All() []operation.Facts {
	generation := create.Kind(create.Ports{}).Facts()
	// The agent's record holds the node until the cluster is healthy again, which is longer than the flow.
	generation.Reserve = func(n host.Node) host.Reservation { return record.Reservation(n.Files) }
	return []operation.Facts{
		{
			Name: change.LockName, RequestFile: ipconfig.RequestFile, Unit: ipconfig.UnitPrePivot, Flows: ipconfig.Flows(),
			Plan: (&change.PrePivot{}).Plan(), WayOut: change.WayOut,
			Reserve: func(n host.Node) host.Reservation { return change.Reservation(change.Ports{Node: n}) },
		},
		rehearsal.Kind(rehearsal.Ports{}).Facts(),
		snapshot.Kind(snapshot.Ports{}).Facts(),
		generation,
		restore.Kind(restore.Ports{}).Facts(),
		factory.Kind(factory.Ports{}).Facts(),
		{
			Name: relocation.FlowReconfigure, RequestFile: relocation.RequestFile, Unit: relocation.UnitReconfigure,
			Flows: relocation.Flows(), Plan: (&onsite.Reconfiguration{}).Plan(), Reserve: onsite.Reservation,
		},
		netpolicy.Kind(netpolicy.Ports{}).Facts(),
	}
}

// Reservations are what holds the node: every kind but the named ones.
func Reservations(n host.Node, except ...string) (all []host.Reservation) {
	for _, k := range All() {
		if !slices.Contains(except, k.Name) {
			all = append(all, k.Reserve(n))
		}
	}
	return all
}

// Units are those that run the operations.
func Units() (units []string) {
	for _, k := range All() {
		units = append(units, k.Unit)
	}
	return units
}
