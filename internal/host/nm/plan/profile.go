package plan

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/godbus/dbus/v5"
	"github.com/google/uuid"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/keys"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

// ensureChange finds or makes the change for an interface: its profile edited, or a new one.
func (p *Plan) ensureChange(i netstate.Interface) (*Change, error) {
	for _, c := range p.Changes {
		if c.Iface == i.Name && c.Action == ActUp && c.Layer() == profile.LayerLink {
			return c, nil
		}
	}
	_, exists := carrierOf(p.now, i.Name) // NetworkManager keeps devices for links that it may make, too
	if d, ok := p.snap.Device(i.Name); ok && exists && d.State == profile.DeviceUnmanaged {
		return nil, errors.New("NetworkManager is configured not to manage it")
	}
	shared, isShared := p.sharedOn(i)
	if pr, ok := p.profileFor(i); ok && (!isShared || bootRank(pr) > bootRank(shared)) {
		return p.changeOf(pr, i.Name), nil
	}
	if isShared {
		return p.copyOf(shared, i), nil
	}
	s, err := p.newProfile(i)
	if err != nil {
		return nil, err
	}
	c := &Change{Iface: i.Name, UUID: s.UUID(), After: s}
	p.Changes = append(p.Changes, c)
	return c, nil
}

// changeOf is the change of the given profile, made where there is none yet.
func (p *Plan) changeOf(pr profile.Profile, iface string) *Change {
	for _, c := range p.Changes {
		if c.UUID == pr.Settings.UUID() {
			return c
		}
	}
	c := &Change{Iface: iface, UUID: pr.Settings.UUID(), Before: &pr, After: pr.Settings.Clone().WithoutTwins()}
	p.Changes = append(p.Changes, c)
	return c
}

// profileFor picks the profile to edit: made for this interface and type; the active one is
// preferred, then what NetworkManager would pick at the next boot.
func (p *Plan) profileFor(i netstate.Interface) (profile.Profile, bool) {
	if pr, ok := p.snap.ActiveOn(i.Name); ok && p.belongsTo(pr, i.Name) && sameKind(i.Type, pr.Settings.Kind()) {
		return pr, true
	}
	var best profile.Profile
	found := false
	for _, pr := range p.snap.Profiles {
		if pr.Generated || !p.belongsTo(pr, i.Name) || !canHaveAddresses(pr.Settings.Kind()) || !sameKind(i.Type, pr.Settings.Kind()) {
			continue
		}
		if !found || bootRank(pr) > bootRank(best) {
			best, found = pr, true
		}
	}
	return best, found
}

// bootRank orders profiles the way NetworkManager chooses among them at boot.
func bootRank(p profile.Profile) int64 {
	r := int64(p.Settings.Priority()) << 44
	if p.Settings.Autoconnect() {
		r += 1 << 60
	}
	return r + int64(profile.Value[uint64](p.Settings, "connection", "timestamp"))
}

// canHaveAddresses says that profiles of the kind may have addresses at all.
func canHaveAddresses(kind string) bool { return profile.LayerOf(kind) == profile.LayerLink }

// sameKind compares nmstate's name of a type with NetworkManager's; "" fits all.
func sameKind(nmstate, kind string) bool {
	switch nmstate {
	case "":
		return true
	case netstate.TypeEthernet, netstate.TypeVeth:
		return kind == profile.TypeEthernet || kind == profile.TypeVeth
	default:
		return kind == profileType(nmstate)
	}
}

// profileType is NetworkManager's name of an nmstate type.
func profileType(nmstate string) string {
	t, _ := keys.TypeOf(nmstate)
	return t.Profile
}

// writeSkeleton writes what every profile of the kind has.
func (p *Plan) writeSkeleton(s profile.Settings, kind string, i netstate.Interface) error {
	switch kind {
	case "":
		return errors.New("its type is not given and there is no such interface to take it from")
	case netstate.TypeEthernet, netstate.TypeVeth:
		return p.writeCard(s, i)
	case netstate.TypeOVSBridge:
		return fmt.Errorf("this program makes no new interfaces of type %s", kind)
	}
	t, ok := keys.TypeOf(kind)
	if !ok || t.Profile == "" {
		return fmt.Errorf("this program makes no new interfaces of type %s", kind)
	}
	for _, key := range t.Needs {
		if field, says := tree.At(&i, key, false); !says || field.IsZero() {
			return fmt.Errorf("a new %s needs %s", kind, strings.Join(t.Needs, " and "))
		}
	}
	s.Set("connection", "type", t.Profile)
	s[t.Profile] = map[string]dbus.Variant{}
	for _, first := range t.Initial {
		s.Set(first.Setting, first.Name, first.Value)
	}
	if i.Patch != nil && i.Patch.Peer != "" {
		s.Set(profile.TypeOVSInterface, "type", "patch")
	}
	return nil
}

// writeCard makes the profile of a card that is there, or of a pair.
func (p *Plan) writeCard(s profile.Settings, i netstate.Interface) error {
	_, exists := p.snap.Device(i.Name)
	if i.Veth != nil && i.Veth.Peer != "" && !exists {
		s.Set("connection", "type", profile.TypeVeth)
		s.Set(profile.TypeVeth, "peer", i.Veth.Peer)
		return nil
	}
	if !exists && !p.isWantedPeer(i.Name) {
		return errors.New("there is no such network card")
	}
	s.Set("connection", "type", profile.TypeEthernet)
	s[profile.TypeEthernet] = nil
	return nil
}

// isWantedPeer says that the document makes a link of that name: the other end of a pair.
func (p *Plan) isWantedPeer(name string) bool {
	return slices.ContainsFunc(p.want.Interfaces, func(i netstate.Interface) bool {
		return i.Veth != nil && i.Veth.Peer == name && i.State != netstate.StateAbsent && i.State != netstate.StateDown
	})
}

// newProfile makes the skeleton of a profile for an interface that has none.
func (p *Plan) newProfile(i netstate.Interface) (profile.Settings, error) {
	kind := i.Type
	if kind == "" {
		if now, ok := p.now.Find(i.Name, ""); ok {
			kind = now.Type
		}
	}
	s := profile.Settings{}
	s.Set("connection", "id", cmp.Or(i.ProfileName, i.Name))
	s.Set("connection", "uuid", uuid.NewString())
	s.Set("connection", "interface-name", i.Name)
	s.Set("connection", "autoconnect", true)
	s.Set("ipv4", "method", "disabled")
	s.Set("ipv6", "method", "disabled")
	if err := p.writeSkeleton(s, kind, i); err != nil {
		return nil, err
	}
	p.outrankRivals(s, i.Name)
	return s, p.adoptAddresses(s, i)
}

// outrankRivals lets the new profile win the interface at the next boot.
func (p *Plan) outrankRivals(s profile.Settings, iface string) {
	if best := p.strongestRival(iface); best >= 0 {
		s.Set("connection", "autoconnect-priority", min(best+1, 999))
	}
}

// strongestRival is the highest priority among the profiles that could take the
// interface at the next boot, -1 where no one could.
func (p *Plan) strongestRival(iface string) int32 {
	best := int32(-1)
	for _, pr := range p.snap.Profiles {
		mine := pr.Settings.Iface() == "" || pr.Settings.Iface() == iface
		ether := pr.Settings.Kind() == profile.TypeEthernet || pr.Settings.Kind() == profile.TypeVeth
		if !pr.Generated && mine && ether && pr.Settings.Autoconnect() {
			best = max(best, pr.Settings.Priority(), 0)
		}
	}
	return best
}

// belongsTo says that a profile is for the interface alone: it is bound to its name, or to its card and can be active once. Any
// other profile is shared: the one that RHCOS gives every card without configuration, for example.
func (p *Plan) belongsTo(pr profile.Profile, iface string) bool {
	if name := pr.Settings.Iface(); name != "" {
		return name == iface
	}
	card := pr.Settings.Card()
	if card == nil || pr.Settings.Multiple() {
		return false
	}
	if active, ok := p.snap.ActiveOn(iface); ok && active.Settings.UUID() == pr.Settings.UUID() {
		return true
	}
	now, ok := carrierOf(p.now, iface)
	return ok && isCard(now.Type) && strings.EqualFold(cmp.Or(now.PermanentMACAddress, now.MACAddress), net.HardwareAddr(card).String())
}

// sharedOn is the shared profile that is active on the interface.
func (p *Plan) sharedOn(i netstate.Interface) (profile.Profile, bool) {
	pr, ok := p.snap.ActiveOn(i.Name)
	return pr, ok && !p.belongsTo(pr, i.Name) && sameKind(i.Type, pr.Settings.Kind())
}

// copyOf plans a profile for the interface alone that starts as a copy of the shared one: what the document does not mention
// stays as it is. Other interfaces keep the shared profile, which is never edited or deleted.
func (p *Plan) copyOf(shared profile.Profile, i netstate.Interface) *Change {
	s := shared.Settings.Clone().WithoutTwins()
	if shared.Settings.ID() != i.ProfileName {
		s.Set("connection", "id", i.Name)
	}
	s.Set("connection", "uuid", uuid.NewString())
	s.Set("connection", "interface-name", i.Name)
	s.Drop("connection", "multi-connect", "timestamp")
	delete(s, "match") // the name says which interface it is for
	p.outrankRivals(s, i.Name)
	c := &Change{Iface: i.Name, UUID: s.UUID(), From: &shared, After: s, copy: s.Clone()}
	p.Changes = append(p.Changes, c)
	return c
}

// withoutCopy is the change where the document asks for nothing that the shared profile does not say: that one is to be active.
func (c *Change) withoutCopy() *Change {
	return &Change{
		Iface: c.Iface, UUID: c.From.Settings.UUID(), Before: c.From, After: c.From.Settings.Clone().WithoutTwins(), Fresh: c.Fresh,
	}
}

// changeActive is the change of the profile that is active on the interface, or of a copy where that one is shared.
func (p *Plan) changeActive(pr profile.Profile, iface string) *Change {
	for _, c := range p.Changes {
		if c.From != nil && c.Iface == iface {
			return c
		}
	}
	if p.belongsTo(pr, iface) {
		return p.changeOf(pr, iface)
	}
	return p.copyOf(pr, netstate.Interface{Name: iface})
}

// findReplacement says that the profile active on the interface gives way to a copy.
func (p *Plan) findReplacement(iface string) (*Change, bool) {
	for _, c := range p.Changes {
		if c.From != nil && c.Iface == iface && c.Action == ActUp {
			return c, true
		}
	}
	return nil, false
}

// ifaceOf is the interface that a profile is for; empty where it is for several or for none that is there.
func (p *Plan) ifaceOf(pr profile.Profile) string {
	if name := pr.Settings.Iface(); name != "" {
		return name
	}
	for _, d := range p.snap.Devices {
		if p.belongsTo(pr, d.Name) {
			return d.Name
		}
	}
	return ""
}

// sharedStaysUp refuses to take an interface down whose only profile is not its own.
func (p *Plan) sharedStaysUp(i netstate.Interface) error {
	pr, ok := p.snap.ActiveOn(i.Name)
	if !ok {
		return fmt.Errorf("no profile of its own keeps it up, so it cannot be made %s", i.State)
	}
	return fmt.Errorf("no profile of its own keeps it up, so it cannot be made %s: profile %q is for other interfaces, too; "+
		"disable ipv4 and ipv6 on it instead", i.State, pr.Settings.ID())
}
