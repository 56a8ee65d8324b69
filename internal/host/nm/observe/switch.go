package observe

import (
	"cmp"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// emptySwitches are the bridges of Open vSwitch that NetworkManager keeps without a port. Open vSwitch gets a bridge with its first port
// and loses it with its last; until then its profile is all there is of it.
func (o *observer) emptySwitches() []netstate.Interface {
	var out []netstate.Interface
	for _, p := range o.s.Profiles {
		name := p.Settings.Iface()
		known := o.switches[name] || slices.ContainsFunc(out, func(i netstate.Interface) bool { return i.Name == name })
		if p.Generated || p.Settings.Kind() != profile.TypeOVSBridge || known || !p.Settings.Autoconnect() || o.hasPorts(p) {
			continue
		}
		out = append(out, netstate.Interface{
			Name: name, Type: netstate.TypeOVSBridge, State: netstate.StateUp, Description: o.describedBridge(name),
			Bridge: &netstate.Bridge{Options: switchOptions(p.Settings), Ports: []netstate.BridgePort{}},
		})
	}
	return out
}

// hasPorts says that a profile names the bridge as its controller. One that is about to go is activated no more.
func (o *observer) hasPorts(bridge profile.Profile) bool {
	return slices.ContainsFunc(o.s.Profiles, func(p profile.Profile) bool {
		c := p.Settings.Controller()
		return !p.Generated && p.Settings.Autoconnect() && (c == bridge.Settings.UUID() ||
			c == bridge.Settings.Iface() && p.Settings.ControllerKind() == profile.TypeOVSBridge)
	})
}

// switchOptions are what a bridge will have with its first port.
func switchOptions(s profile.Settings) *netstate.BridgeOptions {
	flag := func(key string) *bool { return new(profile.Value[bool](s, profile.TypeOVSBridge, key)) }
	return &netstate.BridgeOptions{
		STP: &netstate.STP{Enabled: flag("stp-enable")}, RSTP: flag("rstp-enable"), McastSnooping: flag("mcast-snooping-enable"),
		FailMode: profile.Value[string](s, profile.TypeOVSBridge, "fail-mode"),
		Datapath: cmp.Or(profile.Value[string](s, profile.TypeOVSBridge, "datapath-type"), "system"),
	}
}
