package plan

import (
	"errors"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// droppedPorts are the profiles of a bridge's ports that the document's list leaves out. Ports without a profile belong to
// other programs, such as the patch ports of OVN, and stay.
func (p *Plan) droppedPorts(i netstate.Interface) []profile.Profile {
	if i.Bridge == nil || i.Bridge.Ports == nil {
		return nil
	}
	bridge, ok := p.profileIn(profile.TypeOVSBridge, i.Name)
	if !ok {
		return nil
	}
	var out []profile.Profile
	for _, pr := range p.portsOf(bridge) {
		listed := slices.ContainsFunc(i.Bridge.Ports, func(b netstate.BridgePort) bool { return b.Name == pr.Settings.Iface() })
		if !listed && p.listedBy(pr.Settings.Iface()) == "" {
			out = append(out, pr)
		}
	}
	return out
}

// portsOf are the profiles that name another one as their controller.
func (p *Plan) portsOf(controller profile.Profile) []profile.Profile {
	c := &Change{Iface: controller.Settings.Iface(), UUID: controller.Settings.UUID(), After: controller.Settings}
	var out []profile.Profile
	for _, pr := range p.snap.Profiles {
		if !pr.Generated && c.isControllerOf(pr.Settings) {
			out = append(out, pr)
		}
	}
	return out
}

// listedBy is the controller of the document that has a port of this name; empty for none.
func (p *Plan) listedBy(port string) string {
	for _, i := range p.want.Interfaces {
		if i.State == netstate.StateAbsent || i.State == netstate.StateDown {
			continue
		}
		if slices.Contains(Ports(i), port) || slices.Contains(portsOf(i), port) {
			return i.Name
		}
	}
	return ""
}

// takeBridgeDown ends a bridge with its ports and internal interfaces. Cards stay, without a controller.
func (p *Plan) takeBridgeDown(i netstate.Interface) error {
	act := ActDown
	if i.State == netstate.StateAbsent {
		act = ActRemove
	}
	found := false
	for _, pr := range p.snap.Profiles {
		if pr.Generated || pr.Settings.Kind() != profile.TypeOVSBridge || pr.Settings.Iface() != i.Name {
			continue
		}
		found = true
		for _, port := range p.portsOf(pr) {
			p.removePort(port, act)
		}
		p.endProfile(pr, act)
	}
	if _, exists := p.now.Find(i.Name, netstate.TypeOVSBridge); exists && !found {
		return errors.New("the bridge was made without NetworkManager (by OVN-Kubernetes or with ovs-vsctl); delete it there")
	}
	return nil
}

// removePort ends a port and its internal interface, and releases its cards.
func (p *Plan) removePort(port profile.Profile, act Action) {
	for _, pr := range p.portsOf(port) {
		name := pr.Settings.Iface()
		desired, mentioned := carrierOf(p.want, name)
		switch {
		case p.listedBy(name) != "":
		case mentioned && (desired.State == netstate.StateAbsent || desired.State == netstate.StateDown):
		case pr.Settings.Kind() == profile.TypeOVSInterface || act == ActDown:
			p.endProfile(pr, act)
		default:
			releasePort(p.changeOf(pr, name))
		}
	}
	if p.listedBy(port.Settings.Iface()) == "" || act == ActDown {
		p.endProfile(port, act)
	}
}

// releasePort takes the controller out of the profile of a card, which stays up without addresses. Where the controller goes, too,
// NetworkManager may have activated another profile of the card by then.
func releasePort(c *Change) {
	c.Fresh = c.Before != nil
	c.After.Drop("connection", "master", "slave-type", "controller", "port-type")
	dropSwitchSections(c.After)
	for _, section := range portSections {
		delete(c.After, section)
	}
	for _, sec := range []string{"ipv4", "ipv6"} {
		if profile.Value[string](c.After, sec, "method") == "" {
			c.After.Set(sec, "method", "disabled")
		}
	}
}

// endProfile takes a profile down or away, once.
func (p *Plan) endProfile(pr profile.Profile, act Action) {
	if slices.ContainsFunc(p.Changes, func(c *Change) bool { return c.UUID == pr.Settings.UUID() }) {
		return
	}
	c := &Change{Action: act, Iface: p.ifaceOf(pr), UUID: pr.Settings.UUID(), Before: &pr, After: pr.Settings.Clone().WithoutTwins()}
	if act == ActRemove {
		c.After.Set("connection", "autoconnect", false) // until the profile goes at commit
	}
	p.Changes = append(p.Changes, c)
}

// removeEmptiedPorts removes the ports of Open vSwitch whose interface gets another controller, or goes.
func (p *Plan) removeEmptiedPorts() {
	for _, pr := range p.snap.Profiles {
		if pr.Generated || pr.Settings.Kind() != profile.TypeOVSPort {
			continue
		}
		had, left := p.portsOf(pr), 0
		for _, member := range had {
			if p.staysBelow(pr, member) {
				left++
			}
		}
		if len(had) > 0 && left == 0 {
			p.endProfile(pr, ActRemove)
		}
	}
}

// staysBelow says that a profile is still a member of the port when the plan is carried out.
func (p *Plan) staysBelow(port, member profile.Profile) bool {
	for _, c := range p.Changes {
		if c.UUID == member.Settings.UUID() {
			above := &Change{Iface: port.Settings.Iface(), UUID: port.Settings.UUID(), After: port.Settings}
			return c.Action != ActRemove && above.isControllerOf(c.After)
		}
	}
	return true
}
