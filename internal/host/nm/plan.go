package nm

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// action is what a change does to an interface.
type action int

const (
	actUp     action = iota // profile edited or new, then active
	actDown                 // profile kept, interface down
	actRemove               // profile deleted, virtual link gone
)

// change is what happens to one profile and the device it is for.
type change struct {
	action action
	iface  string
	uuid   string
	before *profile // nil for a new one
	after  settings
	// fresh demands a new activation: the kernel cannot change the link in place.
	fresh bool
}

// edited says that the profile itself differs afterwards.
func (c *change) edited() bool {
	return c.before == nil || !c.after.equal(c.before.settings.clone().withoutTwins())
}

// planner turns a document into changes, against one snapshot.
type planner struct {
	snap    *snapshot
	now     netstate.Document
	want    netstate.Document
	changes []*change
	global  *globalDNS // nil leaves it alone
}

// plan computes the changes that bring the document about, base interfaces first. It touches nothing.
func plan(want, now netstate.Document, s *snapshot) (*planner, error) {
	p := &planner{snap: s, now: now, want: want}
	for _, i := range want.Interfaces {
		if err := p.iface(i); err != nil {
			return nil, err
		}
	}
	if want.Routes != nil {
		if err := p.routes(want.Routes.Config); err != nil {
			return nil, err
		}
	}
	if want.DNS != nil && want.DNS.Config != nil {
		if err := p.resolver(*want.DNS.Config); err != nil {
			return nil, err
		}
	}
	p.changes = p.needed()
	return p, nil
}

// iface plans one interface of the document.
func (p *planner) iface(i netstate.Interface) error {
	if i.Type == netstate.TypeOVSBridge {
		return p.bridge(i)
	}
	if i.State == netstate.StateAbsent || i.State == netstate.StateDown {
		return p.takeDown(i)
	}
	c, err := p.change(i)
	if err != nil {
		return fmt.Errorf("interface %s: %w", i.Name, err)
	}
	if err := p.edit(c, i); err != nil {
		return fmt.Errorf("interface %s: %w", i.Name, err)
	}
	return nil
}

// bridge accepts an Open vSwitch bridge as it is: this backend builds none.
func (p *planner) bridge(i netstate.Interface) error {
	if diff := netstate.Verify(netstate.Document{Interfaces: []netstate.Interface{i}}, p.now); len(diff) > 0 {
		return fmt.Errorf("interface %s: this backend does not change an ovs-bridge, and %s", i.Name, strings.Join(diff, ", "))
	}
	return nil
}

func (p *planner) takeDown(i netstate.Interface) error {
	act := actDown
	if i.State == netstate.StateAbsent {
		act = actRemove
	}
	found := false
	for _, pr := range p.snap.profiles {
		if pr.generated || pr.settings.iface() != i.Name || !sameKind(i.Type, pr.settings.kind()) {
			continue
		}
		found = true
		c := &change{action: act, iface: i.Name, uuid: pr.settings.uuid(), before: &pr, after: pr.settings.clone().withoutTwins()}
		if act == actRemove {
			c.after.set("connection", "autoconnect", false) // until the profile goes at commit
		}
		p.changes = append(p.changes, c)
	}
	if d, ok := p.snap.device(i.Name); ok && !found && d.active != nil {
		return fmt.Errorf("interface %s: no profile of its own keeps it up, so it cannot be made %s", i.Name, i.State)
	}
	return nil
}

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

// edit brings an interface's own properties into its profile.
func (p *planner) edit(c *change, i netstate.Interface) error {
	if !c.after.autoconnect() {
		c.after.set("connection", "autoconnect", true)
	}
	if err := p.vlan(c, i); err != nil {
		return err
	}
	now, _ := p.carrier(i.Name)
	silent := value[uint32](c.after, mtuSection(c.after.kind()), "mtu") == 0
	if i.MTU != 0 && !(silent && now.MTU == i.MTU) {
		c.after.set(mtuSection(c.after.kind()), "mtu", uint32(i.MTU))
	}
	if i.MACAddress != "" {
		if err := setMAC(c, i, p.now); err != nil {
			return err
		}
	}
	for _, f := range []netstate.Family{netstate.IPv4, netstate.IPv6} {
		if err := p.ip(c, i, f); err != nil {
			return err
		}
	}
	return nil
}

func (p *planner) vlan(c *change, i netstate.Interface) error {
	if i.VLAN == nil {
		return nil
	}
	if value[uint32](c.after, typeVLAN, "id") != uint32(i.VLAN.ID) {
		c.after.set(typeVLAN, "id", uint32(i.VLAN.ID))
		c.fresh = true
	}
	if i.VLAN.BaseIface != "" && value[string](c.after, typeVLAN, "parent") != i.VLAN.BaseIface {
		c.after.set(typeVLAN, "parent", i.VLAN.BaseIface)
		c.fresh = true
	}
	if c.before == nil {
		c.after.set(typeVLAN, "flags", uint32(1)) // reorder headers: the kernel's own default
	}
	return nil
}

// mtuSection is where a profile of the kind keeps the MTU.
func mtuSection(kind string) string {
	switch kind {
	case typeOVSInterface:
		return typeOVSInterface
	default:
		return typeEthernet
	}
}

// needed drops the changes that change nothing and puts base interfaces before VLANs.
func (p *planner) needed() []*change {
	var out []*change
	for _, c := range p.changes {
		if c.edited() || !p.inPlace(c) {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b *change) int { return order(a) - order(b) })
	return out
}

// order: what goes away first (it frees addresses), then cards, then what stands on them.
func order(c *change) int {
	switch {
	case c.action != actUp:
		return 0
	case c.after.kind() == typeVLAN:
		return 2
	default:
		return 1
	}
}

// inPlace says that an unedited profile is active and the system agrees with the document.
func (p *planner) inPlace(c *change) bool {
	d, ok := p.snap.device(c.iface)
	if c.action != actUp {
		return !ok || d.active == nil
	}
	if !ok || d.active == nil || d.active.uuid != c.uuid || d.state != deviceActivated {
		return false
	}
	part := partOf(p.want, c.iface)
	return len(netstate.Verify(part, p.now)) == 0
}

// partOf is the share of a document that concerns one interface.
func partOf(d netstate.Document, iface string) netstate.Document {
	var out netstate.Document
	for _, i := range d.Interfaces {
		if i.Name == iface && i.Type != netstate.TypeOVSBridge {
			out.Interfaces = append(out.Interfaces, i)
		}
	}
	if d.Routes == nil {
		return out
	}
	out.Routes = &netstate.Routes{}
	for _, r := range d.Routes.Config {
		if r.NextHopInterface == iface {
			out.Routes.Config = append(out.Routes.Config, r)
		}
	}
	return out
}
