package nm

import (
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// change finds or makes the change for an interface: its profile edited, or a new one.
func (p *planner) change(i netstate.Interface) (*change, error) {
	for _, c := range p.changes {
		if c.iface == i.Name && c.action == actUp {
			return c, nil
		}
	}
	if d, ok := p.snap.device(i.Name); ok && d.state == deviceUnmanaged {
		return nil, errors.New("NetworkManager is told not to manage it")
	}
	if pr, ok := p.profileFor(i); ok {
		return p.changeOf(pr, i.Name), nil
	}
	s, err := p.newProfile(i)
	if err != nil {
		return nil, err
	}
	c := &change{iface: i.Name, uuid: s.uuid(), after: s}
	p.changes = append(p.changes, c)
	return c, nil
}

// changeOf is the change of the given profile, made where there is none yet.
func (p *planner) changeOf(pr profile, iface string) *change {
	for _, c := range p.changes {
		if c.uuid == pr.settings.uuid() {
			return c
		}
	}
	c := &change{iface: iface, uuid: pr.settings.uuid(), before: &pr, after: pr.settings.clone().withoutTwins()}
	p.changes = append(p.changes, c)
	return c
}

// profileFor picks the profile to edit: made for this interface and type; the active one is
// preferred, then what NetworkManager would pick at the next boot.
func (p *planner) profileFor(i netstate.Interface) (profile, bool) {
	if pr, ok := p.snap.activeOn(i.Name); ok && pr.settings.iface() == i.Name && sameKind(i.Type, pr.settings.kind()) {
		return pr, true
	}
	var best profile
	found := false
	for _, pr := range p.snap.profiles {
		if pr.generated || pr.settings.iface() != i.Name || !carries(pr.settings.kind()) || !sameKind(i.Type, pr.settings.kind()) {
			continue
		}
		if !found || rank(pr) > rank(best) {
			best, found = pr, true
		}
	}
	return best, found
}

// rank orders profiles the way NetworkManager chooses among them at boot.
func rank(p profile) int64 {
	r := int64(p.settings.priority()) << 44
	if p.settings.autoconnect() {
		r += 1 << 60
	}
	return r + int64(value[uint64](p.settings, "connection", "timestamp"))
}

// carries says that profiles of the kind may have addresses at all.
func carries(kind string) bool { return kind != typeOVSBridge && kind != "ovs-port" }

// sameKind compares nmstate's name of a type with NetworkManager's; "" fits all.
func sameKind(nmstate, kind string) bool {
	switch nmstate {
	case "":
		return true
	case netstate.TypeEthernet, "veth":
		return kind == typeEthernet || kind == typeVeth
	case "linux-bridge":
		return kind == typeBridge
	case "mac-vlan":
		return kind == "macvlan"
	default:
		return kind == nmstate
	}
}

// newProfile makes the skeleton of a profile for an interface that has none.
func (p *planner) newProfile(i netstate.Interface) (settings, error) {
	kind := i.Type
	if kind == "" {
		if now, ok := p.now.Find(i.Name, ""); ok {
			kind = now.Type
		}
	}
	s := settings{}
	s.set("connection", "id", i.Name)
	s.set("connection", "uuid", uuid.NewString())
	s.set("connection", "interface-name", i.Name)
	s.set("connection", "autoconnect", true)
	s.set("ipv4", "method", "disabled")
	s.set("ipv6", "method", "disabled")
	switch kind {
	case netstate.TypeEthernet, "veth":
		if _, ok := p.snap.device(i.Name); !ok {
			return nil, errors.New("there is no such network card")
		}
		s.set("connection", "type", typeEthernet)
		s[typeEthernet] = nil
	case netstate.TypeVLAN:
		if i.VLAN == nil || i.VLAN.BaseIface == "" {
			return nil, errors.New("the VLAN names no base-iface and no profile of that name exists to take it from")
		}
		s.set("connection", "type", typeVLAN)
	case "":
		return nil, errors.New("its type is not given and there is no such interface to take it from")
	default:
		return nil, fmt.Errorf("this backend makes no new interfaces of type %s", kind)
	}
	if best := p.strongestRival(i.Name); best >= 0 {
		s.set("connection", "autoconnect-priority", min(best+1, 999))
	}
	return s, nil
}

// strongestRival is the highest priority among the profiles that could take the
// interface at the next boot, -1 where no one could.
func (p *planner) strongestRival(iface string) int32 {
	best := int32(-1)
	for _, pr := range p.snap.profiles {
		mine := pr.settings.iface() == "" || pr.settings.iface() == iface
		ether := pr.settings.kind() == typeEthernet || pr.settings.kind() == typeVeth
		if !pr.generated && mine && ether && pr.settings.autoconnect() {
			best = max(best, pr.settings.priority(), 0)
		}
	}
	return best
}
