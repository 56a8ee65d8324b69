package nm

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// side is one of the two states the network can come to rest in.
type side struct {
	files   map[string]string
	state   netstate.Document
	foreign []foreign
	global  *globalDNS
}

// sides says which state the network belongs in, and which it must have nothing left of.
func (r *record) sides() (right, wrong side) {
	right = side{r.Old, r.Before, r.ForeignBefore, r.GlobalOld}
	wrong = side{r.New, r.After, r.ForeignAfter, r.GlobalNew}
	if r.Phase == phaseCommitted {
		return wrong, right
	}
	return right, wrong
}

// missing compares the system with the side it belongs in, in words. A restarted NetworkManager
// leaves addresses it finds alone, so what is left of the other side counts.
func (n *Network) missing(ctx context.Context, c *client, right, wrong side) ([]string, error) {
	s, err := c.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	got, err := n.observe(ctx, c, s)
	if err != nil {
		return nil, err
	}
	return append(netstate.Verify(right.state, got), leftovers(right, wrong, got)...), nil
}

// leftovers lists the addresses and routes of the wrong side that are there and have no business to.
func leftovers(right, wrong side, got netstate.Document) []string {
	var out []string
	for _, i := range wrong.state.Interfaces {
		for _, f := range []netstate.Family{netstate.IPv4, netstate.IPv6} {
			for _, a := range addressesOf(wrong.state, i.Name, f) {
				if !slices.Contains(addressesOf(right.state, i.Name, f), a) && fixed(right.state, i.Name, f) &&
					!isForeign(right.foreign, i.Name, a) && slices.Contains(addressesOf(got, i.Name, f), a) {
					out = append(out, fmt.Sprintf("interface %s still has address %s", i.Name, a))
				}
			}
		}
	}
	for _, r := range wrong.state.Routes.Config {
		same := func(o netstate.Route) bool { return netstate.SameRoute(o, r) }
		if !r.Removes() && !slices.ContainsFunc(right.state.Routes.Config, same) && slices.ContainsFunc(got.Routes.Config, same) {
			out = append(out, fmt.Sprintf("route %s is still there", r))
		}
	}
	return out
}

func addressesOf(d netstate.Document, iface string, f netstate.Family) []netip.Prefix {
	var out []netip.Prefix
	for _, i := range d.Interfaces {
		if i.Name == iface {
			all, _ := f.Of(i).Prefixes() // both sides were read from a system or validated
			out = append(out, all...)
		}
	}
	return out
}

// fixed says that the side knows every address the family should have.
func fixed(d netstate.Document, iface string, f netstate.Family) bool {
	return slices.ContainsFunc(d.Interfaces, func(i netstate.Interface) bool {
		return i.Name == iface && f.Of(i) != nil && !f.Of(i).Auto()
	})
}

func isForeign(all []foreign, iface string, p netip.Prefix) bool {
	return slices.ContainsFunc(all, func(f foreign) bool { return f.Iface == iface && slices.Contains(f.Addresses, p.String()) })
}
