package plan

import (
	"cmp"
	"fmt"
	"net"
	"strings"

	"github.com/google/uuid"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// belongs says that a profile is for the interface alone: it is bound to its name, or to its card and can be active once. Any
// other profile is shared: the one that RHCOS gives every card without configuration, for example.
func (p *Plan) belongs(pr profile.Profile, iface string) bool {
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
	return pr, ok && !p.belongs(pr, i.Name) && sameKind(i.Type, pr.Settings.Kind())
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
	p.outrank(s, i.Name)
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
	if p.belongs(pr, iface) {
		return p.changeOf(pr, iface)
	}
	return p.copyOf(pr, netstate.Interface{Name: iface})
}

// replaced says that the profile active on the interface gives way to a copy.
func (p *Plan) replaced(iface string) (*Change, bool) {
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
		if p.belongs(pr, d.Name) {
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
