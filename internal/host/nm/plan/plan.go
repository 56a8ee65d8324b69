// Package plan computes which profiles have to change so that the node matches an nmstate document. It does no I/O: its
// input is a snapshot of NetworkManager and the observed state.
//
// Package nm uses it; it imports netstate, nm/nodewide and nm/profile.
package plan

import (
	"fmt"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nodewide"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Action is what a change does to an interface.
type Action int

// What a change does.
const (
	ActUp     Action = iota // profile edited or new, then active
	ActDown                 // profile kept, interface down
	ActRemove               // profile deleted, virtual link gone
)

// Change is what happens to one profile and the device it is for.
type Change struct {
	Action Action
	Iface  string
	UUID   string
	Before *profile.Profile // nil for a new one
	After  profile.Settings
	// From is the shared profile that a new one is a copy of; nil for any other. It stays as it is.
	From *profile.Profile
	copy profile.Settings // what the new profile says without the document
	// Fresh demands a new activation: the kernel or NetworkManager cannot change it in place.
	Fresh bool
	// Moved says that a port leaves one controller for another.
	Moved bool
	// Recreate demands that the link is deleted before: its properties are fixed when it is made.
	Recreate bool
}

// Layer is that of the change's device.
func (c *Change) Layer() profile.Layer { return profile.LayerOf(c.After.Kind()) }

// Edited says that the profile itself differs afterwards.
func (c *Change) Edited() bool {
	if c.From != nil {
		return !c.After.Equal(c.copy)
	}
	return c.Before == nil || !c.After.Equal(c.Before.Settings.Clone().WithoutTwins())
}

// Plan turns a document into changes, against one snapshot.
type Plan struct {
	snap    *profile.Snapshot
	now     netstate.Document
	want    netstate.Document
	Changes []*Change
	// Bare are the virtual links without a profile that go away.
	Bare   []string
	Global *profile.GlobalDNS // nil leaves it alone
	Node   *nodewide.Change   // nil leaves it alone
}

// New computes the changes that bring a resolved document about, in the order in which they are made. It touches nothing.
// Ephemeral changes are to end with the boot.
func New(want, now netstate.Document, s *profile.Snapshot, ephemeral bool) (*Plan, error) {
	p := &Plan{snap: s, now: now, want: want}
	for _, i := range want.Interfaces {
		if err := p.planInterface(i); err != nil {
			return nil, fmt.Errorf("interface %s: %w", i.Name, err)
		}
	}
	if err := p.planMembers(); err != nil {
		return nil, err
	}
	if err := p.addressedPorts(); err != nil {
		return nil, err
	}
	if err := p.refuseStackedMTUs(); err != nil {
		return nil, err
	}
	if want.Routes != nil {
		if err := p.planRoutes(want.Routes.Config); err != nil {
			return nil, err
		}
	}
	if want.RouteRules != nil {
		if err := p.planRules(want.RouteRules.Config); err != nil {
			return nil, err
		}
	}
	if want.DNS != nil && want.DNS.Config != nil {
		if err := p.planResolver(*want.DNS.Config); err != nil {
			return nil, err
		}
	}
	p.removeEmptiedPorts()
	if err := p.refuseOrphans(); err != nil {
		return nil, err
	}
	p.followControllers()
	p.keepAddressesOfAnew()
	p.markEphemeral(ephemeral)
	var err error
	if p.Node, err = nodewide.Plan(want, now, ephemeral); err != nil {
		return nil, err
	}
	p.Changes, err = inOrder(p.neededChanges())
	return p, err
}

// planInterface plans one interface of the document.
func (p *Plan) planInterface(i netstate.Interface) error {
	if i.Type == netstate.TypeOVSBridge {
		return p.ovsBridge(i)
	}
	if i.State == netstate.StateAbsent || i.State == netstate.StateDown {
		return p.takeDown(i)
	}
	if p.isKernelsLoopback(i) {
		return nil
	}
	c, err := p.ensureChange(i)
	if err != nil {
		return err
	}
	if err := p.editProfile(c, i); err != nil {
		return err
	}
	moveLoopbackKeys(c.After)
	return nil
}

func (p *Plan) takeDown(i netstate.Interface) error {
	act := ActDown
	if i.State == netstate.StateAbsent {
		act = ActRemove
	}
	found := false
	for _, pr := range p.snap.Profiles {
		if pr.Generated || !p.belongsTo(pr, i.Name) || !sameKind(i.Type, pr.Settings.Kind()) {
			continue
		}
		found = true
		p.endProfile(pr, act)
	}
	if !found && p.endNamed(i, act) {
		return nil
	}
	if i.Name == netstate.LoopbackName {
		return nil // without a profile of its own it has nothing but what the kernel gives it
	}
	if !found && p.isBareLink(i) { // one that is only to be down has no profile to come back by, and goes with nmstate, too
		p.Bare = profile.AppendNew(p.Bare, []string{i.Name})
		return p.removeWith(i.Name)
	}
	if d, ok := p.snap.Device(i.Name); ok && !found && d.Active != nil {
		return p.sharedStaysUp(i)
	}
	if act == ActRemove && i.Type != netstate.TypeEthernet {
		return p.removeWith(i.Name)
	}
	return nil
}

// endNamed ends the profile of that name which is for a card by its MAC address, where there is no interface of the name: a document
// names such a card by it (identifier: mac-address). It says whether there is one.
func (p *Plan) endNamed(i netstate.Interface, act Action) bool {
	if _, exists := p.now.Find(i.Name, ""); exists {
		return false
	}
	at := slices.IndexFunc(p.snap.Profiles, func(pr profile.Profile) bool {
		s := pr.Settings
		return !pr.Generated && s.ID() == i.Name && s.Iface() == "" && s.Card() != nil && !s.Multiple() && sameKind(i.Type, s.Kind())
	})
	if at >= 0 {
		p.endProfile(p.snap.Profiles[at], act)
	}
	return at >= 0
}

// isBareLink says that an interface is a virtual link of the kernel that no profile keeps, of whatever program.
func (p *Plan) isBareLink(i netstate.Interface) bool {
	now, exists := carrierOf(p.now, i.Name)
	if _, shared := p.snap.ActiveOn(i.Name); !exists || shared || i.Type != "" && i.Type != now.Type {
		return false
	}
	return !slices.Contains([]string{
		"", netstate.TypeEthernet, netstate.TypeLoopback, netstate.TypeOVSInterface, netstate.TypeOVSBridge, "infiniband",
	}, now.Type)
}

// removeWith makes absent what the kernel takes away with a link: the other end of a pair, and what stands on it. NetworkManager would
// make a pair anew for the profile of either end.
func (p *Plan) removeWith(name string) error {
	now, _ := carrierOf(p.now, name)
	if now.Veth == nil || now.Veth.Peer == "" {
		return p.removeChildren(name)
	}
	if _, mentioned := p.want.Find(now.Veth.Peer, ""); !mentioned && !p.isEnding(now.Veth.Peer) {
		if err := p.takeDown(netstate.Interface{Name: now.Veth.Peer, Type: netstate.TypeVeth, State: netstate.StateAbsent}); err != nil {
			return fmt.Errorf("%s, the other end of its pair: %w", now.Veth.Peer, err)
		}
	}
	return p.removeChildren(name)
}

// isEnding says that a profile of the interface goes already.
func (p *Plan) isEnding(iface string) bool {
	return slices.Contains(p.Bare, iface) ||
		slices.ContainsFunc(p.Changes, func(c *Change) bool { return c.Iface == iface && c.Action == ActRemove })
}

// removeChildren makes what stands on a removed link absent, too: the kernel takes it away with the link.
func (p *Plan) removeChildren(base string) error {
	for _, i := range p.now.Interfaces {
		_, mentioned := p.want.Find(i.Name, "")
		if i.Base() != base || mentioned {
			continue
		}
		if err := p.takeDown(netstate.Interface{Name: i.Name, Type: i.Type, State: netstate.StateAbsent}); err != nil {
			return fmt.Errorf("%s, which stands on it: %w", i.Name, err)
		}
	}
	return nil
}

// neededChanges drops the changes that change nothing.
func (p *Plan) neededChanges() []*Change {
	var out []*Change
	for _, c := range p.Changes {
		if c.From != nil && !c.Edited() {
			c = c.withoutCopy()
		}
		if c.Edited() || c.Fresh || !p.inPlace(c) {
			out = append(out, c)
		}
	}
	return out
}

// inPlace says that an unedited profile is active and the system agrees with the document.
func (p *Plan) inPlace(c *Change) bool {
	d, ok := p.snap.DeviceAt(c.Layer(), c.Iface)
	if c.Action != ActUp {
		return !ok || d.Active == nil
	}
	if !ok || d.Active == nil || d.Active.UUID != c.UUID || !d.Serves(AwaitsNetwork(c.After)) {
		return false
	}
	if c.Layer() != profile.LayerLink {
		return true
	}
	part := partOf(p.want, c.Iface)
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
