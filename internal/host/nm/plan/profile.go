package plan

import (
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// change finds or makes the change for an interface: its profile edited, or a new one.
func (p *Plan) change(i netstate.Interface) (*Change, error) {
	for _, c := range p.Changes {
		if c.Iface == i.Name && c.Action == ActUp {
			return c, nil
		}
	}
	if d, ok := p.snap.Device(i.Name); ok && d.State == profile.DeviceUnmanaged {
		return nil, errors.New("NetworkManager is configured not to manage it")
	}
	if pr, ok := p.profileFor(i); ok {
		return p.changeOf(pr, i.Name), nil
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
	if pr, ok := p.snap.ActiveOn(i.Name); ok && pr.Settings.Iface() == i.Name && sameKind(i.Type, pr.Settings.Kind()) {
		return pr, true
	}
	var best profile.Profile
	found := false
	for _, pr := range p.snap.Profiles {
		if pr.Generated || pr.Settings.Iface() != i.Name || !carries(pr.Settings.Kind()) || !sameKind(i.Type, pr.Settings.Kind()) {
			continue
		}
		if !found || rank(pr) > rank(best) {
			best, found = pr, true
		}
	}
	return best, found
}

// rank orders profiles the way NetworkManager chooses among them at boot.
func rank(p profile.Profile) int64 {
	r := int64(p.Settings.Priority()) << 44
	if p.Settings.Autoconnect() {
		r += 1 << 60
	}
	return r + int64(profile.Value[uint64](p.Settings, "connection", "timestamp"))
}

// carries says that profiles of the kind may have addresses at all.
func carries(kind string) bool { return kind != profile.TypeOVSBridge && kind != "ovs-port" }

// sameKind compares nmstate's name of a type with NetworkManager's; "" fits all.
func sameKind(nmstate, kind string) bool {
	switch nmstate {
	case "":
		return true
	case netstate.TypeEthernet, "veth":
		return kind == profile.TypeEthernet || kind == profile.TypeVeth
	case "linux-bridge":
		return kind == profile.TypeBridge
	case "mac-vlan":
		return kind == "macvlan"
	default:
		return kind == nmstate
	}
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
	s.Set("connection", "id", i.Name)
	s.Set("connection", "uuid", uuid.NewString())
	s.Set("connection", "interface-name", i.Name)
	s.Set("connection", "autoconnect", true)
	s.Set("ipv4", "method", "disabled")
	s.Set("ipv6", "method", "disabled")
	switch kind {
	case netstate.TypeEthernet, "veth":
		if _, ok := p.snap.Device(i.Name); !ok {
			return nil, errors.New("there is no such network card")
		}
		s.Set("connection", "type", profile.TypeEthernet)
		s[profile.TypeEthernet] = nil
	case netstate.TypeVLAN:
		if i.VLAN == nil || i.VLAN.BaseIface == "" {
			return nil, errors.New("the VLAN names no base-iface and no profile of that name exists to take it from")
		}
		s.Set("connection", "type", profile.TypeVLAN)
	case "":
		return nil, errors.New("its type is not given and there is no such interface to take it from")
	default:
		return nil, fmt.Errorf("this backend makes no new interfaces of type %s", kind)
	}
	if best := p.strongestRival(i.Name); best >= 0 {
		s.Set("connection", "autoconnect-priority", min(best+1, 999))
	}
	return s, nil
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
