package netstate

import "slices"

// checkController refuses a port whose controller has a list of ports without it.
func (v *validator) checkController(d Document, i Interface) {
	name := textOf(i.Controller)
	n := slices.IndexFunc(d.Interfaces, func(c Interface) bool { return c.Name == name && c.listsPorts() })
	if name == "" || n < 0 || d.Interfaces[n].State == StateAbsent || d.Interfaces[n].State == StateDown {
		return
	}
	if c := d.Interfaces[n]; !slices.Contains(c.Ports(), i.Name) {
		v.at = i.keyPath("controller")
		v.addProblem("%q contradicts %s, which does not list %s", name, c.portListPath(), i.Name)
	}
}

// listsPorts says that a controller names its ports, none included.
func (i Interface) listsPorts() bool {
	return i.Bond != nil && i.Bond.Ports != nil || i.VRF != nil && i.VRF.Ports != nil || i.Bridge != nil && i.Bridge.Ports != nil
}

// portListPath is the path of the list of ports.
func (i Interface) portListPath() string {
	switch {
	case i.Bond != nil:
		return i.keyPath("link-aggregation.port")
	case i.VRF != nil:
		return i.keyPath("vrf.port")
	}
	return i.keyPath("bridge.port")
}

// checkStackedMTUs refuses what the kernel would: a link that carries more than its base.
func (v *validator) checkStackedMTUs(d Document) {
	for _, i := range d.Interfaces {
		base, ok := findCarrier(d, i.Base())
		if ok && base.State != StateAbsent && base.State != StateIgnore && i.State != StateAbsent && base.MTU > 0 && i.MTU > base.MTU {
			v.at = i.keyPath("mtu")
			v.addProblem("%d is more than %s, %d, and it stands on %s; give it %d at most, or %s more",
				i.MTU, base.keyPath("mtu"), base.MTU, base.Name, base.MTU, base.Name)
		}
	}
}
