package netpolicy

import (
	"fmt"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/probing"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

var families = []netstate.Family{netstate.IPv4, netstate.IPv6}

// probeCandidates lists the probes to select from. Where the document names default gateways, those have to answer.
func (e *enactment) probeCandidates(document netstate.Document) ([]probing.Probe, error) {
	wanted := func(kind string) bool { return e.request.Builtin == nil || slices.Contains(e.request.Builtin, kind) }
	var all []probing.Probe
	if gateways, removed := DefaultGateways(document); wanted(probing.KindGateway) && (len(gateways) > 0 || !removed) {
		all = append(all, probing.Probe{Kind: probing.KindGateway, Gateways: gateways})
	}
	if wanted(probing.KindDNS) {
		all = append(all, probing.Probe{Kind: probing.KindDNS})
	}
	if wanted(probing.KindAPI) {
		api, found, err := probing.APIServer(e.Files)
		if err != nil {
			return nil, fmt.Errorf("find the API server: %w", err)
		}
		if found {
			all = append(all, api)
		}
	}
	if wanted(probing.KindNode) {
		all = append(all, probing.Node())
	}
	return append(all, e.request.Probes...), nil
}

// DefaultGateways are the next hops of the default routes that the document adds to the main table. removed says that it
// takes default routes away and adds none: a node that is to have no gateway is not asked for one.
func DefaultGateways(document netstate.Document) (gateways []probing.Gateway, removed bool) {
	if document.Routes == nil {
		return nil, false
	}
	for _, r := range document.Routes.Config {
		if !isDefault(r) {
			continue
		}
		if r.Removes() {
			removed = true
		} else {
			gateways = append(gateways, probing.Gateway{Address: r.NextHopAddress, Interface: r.NextHopInterface})
		}
	}
	return gateways, removed
}

func isDefault(r netstate.Route) bool {
	p, err := netstate.ParseDestination(r.Destination)
	return err == nil && p.Bits() == 0 && r.Table() == netstate.MainTable
}

// OnlyUplink names an interface with the node's default route that the document changes; only says that no other interface
// has one.
func OnlyUplink(document, now netstate.Document) (name string, only bool) {
	all, touched := findUplinks(now), touchedInterfaces(document, now)
	if len(all) == 0 || slices.ContainsFunc(all, func(u string) bool { return !touched[u] }) {
		return "", false
	}
	return all[0], true
}

// touchesUplink says that the document changes an interface with a default route.
func touchesUplink(document, now netstate.Document) bool {
	touched := touchedInterfaces(document, now)
	return slices.ContainsFunc(findUplinks(now), func(u string) bool { return touched[u] })
}

// findUplinks are the interfaces with a default route.
func findUplinks(now netstate.Document) (names []string) {
	for _, f := range families {
		if r, ok := netstate.DefaultRoute(now, f, ""); ok && !slices.Contains(names, r.NextHopInterface) {
			names = append(names, r.NextHopInterface)
		}
	}
	return names
}

// touchedInterfaces lists the interfaces that a document changes, and those that are carried by them: a VLAN by its base, a bridge or
// a bond by its ports.
func touchedInterfaces(want, now netstate.Document) map[string]bool {
	document, touched := netstate.Diff(now, want), map[string]bool{}
	for _, i := range document.Interfaces {
		touched[i.Name] = true
	}
	if document.Routes != nil {
		for _, r := range document.Routes.Config {
			if isDefault(r) {
				touched[r.NextHopInterface] = true
			}
		}
	}
	for again := true; again; {
		again = false
		for _, i := range now.Interfaces {
			if !touched[i.Name] && slices.ContainsFunc(carriersOf(i), func(c string) bool { return touched[c] }) {
				touched[i.Name], again = true, true
			}
		}
	}
	return touched
}

// carriersOf are the interfaces that an interface rests on.
func carriersOf(i netstate.Interface) []string {
	if base := i.Base(); base != "" {
		return append(i.Ports(), base)
	}
	return i.Ports()
}
