package nm

import (
	"fmt"
	"slices"
	"strings"

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
