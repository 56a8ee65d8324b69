package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// refuseStackedMTUs refuses what the kernel would: a link that carries more than its base does now.
func (p *Plan) refuseStackedMTUs() error {
	for _, i := range p.want.Interfaces {
		have, _ := carrierOf(p.now, i.Name)
		name := cmp.Or(i.Base(), have.Base())
		base, exists := carrierOf(p.now, name)
		asked, _ := carrierOf(p.want, name)
		if name == "" || i.MTU == 0 || !exists || asked.MTU != 0 || i.MTU <= base.MTU || p.mayGrow(base) {
			continue
		}
		return fmt.Errorf("interface %s: MTU %d is more than the %d of %s, which it stands on: give it %d at most, or %s a larger one",
			i.Name, i.MTU, base.MTU, name, base.MTU, name)
	}
	return nil
}

// mayGrow says that the MTU of a base follows its ports, and that the document changes these.
func (p *Plan) mayGrow(base netstate.Interface) bool {
	asked, _ := carrierOf(p.want, base.Name)
	if base.Type != netstate.TypeLinuxBridge {
		return base.Type == netstate.TypeOVSInterface
	}
	return asked.Bridge != nil || slices.ContainsFunc(Ports(base), func(port string) bool {
		i, _ := carrierOf(p.want, port)
		return i.MTU != 0
	})
}

// addressedPorts refuses addresses on a port, which NetworkManager would not configure.
func (p *Plan) addressedPorts() error {
	for _, c := range p.Changes {
		i, asked := carrierOf(p.want, c.Iface)
		if c.Action != ActUp || !asked || c.Layer() != profile.LayerLink || !i.IPv4.On() && !i.IPv6.On() {
			continue
		}
		if c.After.Kind() == profile.TypeOVSInterface || c.After.ControllerKind() == profile.TypeVRF {
			continue // these route by themselves
		}
		if c.After.Controller() != "" {
			return fmt.Errorf("interface %s: it is a port, and a port has no addresses; detach it with controller: '', or give the "+
				"addresses to its controller", c.Iface)
		}
		if controller, kept := p.keptController(c); kept {
			return fmt.Errorf("interface %s: it is a port of %s %s, which was made without NetworkManager, and a port has no addresses; "+
				"take it out there, or give them to an interface of %s", c.Iface, controller.Type, controller.Name, controller.Name)
		}
	}
	return nil
}

// keptController is the controller that an interface has now and keeps: no profile of NetworkManager names it.
func (p *Plan) keptController(c *Change) (netstate.Interface, bool) {
	if c.Before != nil && c.Before.Settings.Controller() != "" {
		return netstate.Interface{}, false // the document detaches it
	}
	for _, i := range p.now.Interfaces {
		if i.Name == c.Iface || i.Type == netstate.TypeVRF || !slices.Contains(Ports(i), c.Iface) {
			continue
		}
		want, mentioned := p.want.Find(i.Name, i.Type)
		gone := mentioned && (want.State == netstate.StateAbsent || want.State == netstate.StateDown)
		lists := mentioned && (portsOf(want) != nil)
		return i, !gone && (!lists || slices.Contains(Ports(want), c.Iface))
	}
	return netstate.Interface{}, false
}
