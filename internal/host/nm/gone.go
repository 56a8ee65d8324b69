package nm

import (
	"context"
	"fmt"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// goneCards names the interfaces of a record that cannot come back now: cards that the machine no longer has, and what rests on them.
// Their profiles are in order on the disk; NetworkManager brings them into force when the card is there again.
func (c *client) goneCards(ctx context.Context, r *record) ([]string, error) {
	s, err := c.readSnapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("look which cards there are: %w", err)
	}
	var gone []string
	right, _ := r.sides()
	for _, p := range r.Profiles {
		pr, ok := s.ByUUID(p.UUID)
		_, exists := s.DeviceAt(p.Layer, p.Iface)
		card := pr.Settings.Kind() == profile.TypeEthernet
		if !ok { // the change made the profile for a link that was there without one, and NetworkManager makes no such link
			i, wanted := right.state.Find(p.Iface, "")
			card = wanted && i.State != netstate.StateAbsent
		}
		if !exists && card && !isSecondEnd(s, p.Iface) {
			gone = append(gone, p.Iface)
		}
	}
	for n := -1; n != len(gone); { // what rests on them, and so on
		n = len(gone)
		for _, p := range r.Profiles {
			pr, _ := s.ByUUID(p.UUID)
			if slices.Contains(gone, pr.Settings.Base()) && !slices.Contains(gone, p.Iface) {
				gone = append(gone, p.Iface)
			}
		}
	}
	return gone, nil
}

// withoutGone is a state without what cannot be there: interfaces that are gone, their places as ports, the routes over them, and the
// resolver, of which some servers may be theirs.
func withoutGone(d netstate.Document, gone []string) netstate.Document {
	if len(gone) == 0 {
		return d
	}
	isGone := func(name string) bool { return slices.Contains(gone, name) }
	out := d
	out.DNS, out.Interfaces = nil, nil
	for _, i := range d.Interfaces {
		if isGone(i.Name) {
			continue
		}
		if i.Bridge != nil && slices.ContainsFunc(i.Bridge.Ports, func(p netstate.BridgePort) bool {
			return isGone(p.Name) ||
				p.Bond != nil && slices.ContainsFunc(p.Bond.Ports, func(m netstate.BondMember) bool { return isGone(m.Name) })
		}) {
			b := *i.Bridge
			b.Ports, i.Bridge = nil, &b
		}
		if i.Bond != nil && slices.ContainsFunc(i.Bond.Ports, isGone) {
			b := *i.Bond
			b.Ports, i.Bond = nil, &b
		}
		if i.VRF != nil && slices.ContainsFunc(i.VRF.Ports, isGone) {
			v := *i.VRF
			v.Ports, i.VRF = nil, &v
		}
		out.Interfaces = append(out.Interfaces, i)
	}
	if d.Routes != nil {
		routes := *d.Routes
		routes.Config = slices.DeleteFunc(slices.Clone(routes.Config), func(r netstate.Route) bool { return isGone(r.NextHopInterface) })
		out.Routes = &routes
	}
	return out
}

// secondEnd says that a profile is for the card that another profile makes together with its own.
func secondEnd(s *profile.Snapshot, pr profile.Profile) bool {
	return pr.Settings.Kind() == profile.TypeEthernet && isSecondEnd(s, pr.Settings.Iface())
}

// isSecondEnd says that a profile makes the card together with its own.
func isSecondEnd(s *profile.Snapshot, card string) bool {
	return slices.ContainsFunc(s.Profiles, func(o profile.Profile) bool {
		return profile.Value[string](o.Settings, profile.TypeVeth, "peer") == card
	})
}
