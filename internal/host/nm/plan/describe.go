package plan

import (
	"slices"

	"github.com/godbus/dbus/v5"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// ephemeralMark is a key of a profile's user data. It marks a profile that is in memory only on purpose; dropping it is
// the edit that makes a later persistent change save the profile.
const ephemeralMark = "lifecycle-agent.ephemeral"

// markEphemeral notes in the profiles whether the change is to end with the boot, and keeps what was marked before and is now to stay.
func (p *Plan) markEphemeral(ephemeral bool) {
	for _, c := range p.Changes {
		if c.Action != ActUp || ephemeral && !c.Edited() {
			continue
		}
		data := profile.Value[map[string]string](c.After, "user", "data")
		next := map[string]string{}
		for k, v := range data {
			if k != ephemeralMark {
				next[k] = v
			}
		}
		if ephemeral {
			next[ephemeralMark] = "true"
		}
		switch {
		case len(next) == len(data) && (next[ephemeralMark] == data[ephemeralMark]):
		case len(next) == 0:
			delete(c.After, "user")
		default:
			c.After.Set("user", "data", next)
		}
	}
}

// MarkOnly says that nothing but the mark differs: the profile is saved, and what runs stays.
func (c *Change) MarkOnly() bool {
	if c.Before == nil || c.Fresh {
		return false
	}
	keys := c.Keys()
	return len(keys) == 1 && keys[0] == "user.data"
}

// Keys are the settings that differ, as "ipv4.method"; none for a new profile or one that goes.
func (c *Change) Keys() []string {
	if c.Before == nil && c.From == nil || c.Action != ActUp {
		return nil
	}
	was := c.formerSettings()
	var out []string
	for _, pair := range [][2]profile.Settings{{was, c.After}, {c.After, was}} {
		for sec, keys := range pair[0] {
			for key, v := range keys {
				if !sameVariant(v, pair[1][sec][key]) {
					out = profile.AppendNew(out, []string{sec + "." + key})
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// formerSettings is what the profile said before, or the shared one that it is a copy of.
func (c *Change) formerSettings() profile.Settings {
	if c.From != nil {
		return c.copy
	}
	return c.Before.Settings.Clone().WithoutTwins()
}

func sameVariant(a, b dbus.Variant) bool {
	return profile.Settings{"": {"": a}}.Equal(profile.Settings{"": {"": b}})
}

// inPlaceSections can change while the profile stays active.
var inPlaceSections = []string{
	"ipv4.",
	"ipv6.",
	"user.",
	"ovs-external-ids.",
	"ovs-other-config.",
	"connection.autoconnect",
	"connection.lldp",
	"bridge.",
	"bridge-port.",
	"802-3-ethernet.mtu",
}

// Disruption classes the change, given whether the link exists and the profile is active on it.
func (c *Change) Disruption(exists, active bool) host.Disruption {
	switch {
	case c.Action != ActUp:
		return host.DisruptionDown
	case c.Recreate && exists:
		return host.DisruptionRecreate
	case c.Before == nil && !exists || !active && c.Before != nil:
		return host.DisruptionCreate
	case c.Fresh || !active:
		return host.DisruptionReactivate
	case c.MarkOnly():
		return host.DisruptionNone
	}
	for _, key := range c.Keys() {
		if !slices.ContainsFunc(inPlaceSections, func(s string) bool { return len(key) >= len(s) && key[:len(s)] == s }) {
			return host.DisruptionReactivate
		}
	}
	return host.DisruptionInPlace
}

// Light says that the plan changes a profile of which only a part was read.
func (p *Plan) Light() bool {
	return slices.ContainsFunc(p.Changes, func(c *Change) bool {
		return c.Before != nil && c.Before.Light || c.From != nil && c.From.Light
	})
}

// Ports are the links that a controller of a document lists as its ports; a bond inside an Open vSwitch bridge counts by its
// members.
func Ports(i netstate.Interface) []string {
	if i.Type == netstate.TypeOVSBridge {
		return i.Ports()
	}
	return portsOf(i)
}

// Switches says that the plan changes something of Open vSwitch.
func (p *Plan) Switches() bool { return slices.ContainsFunc(p.Changes, (*Change).OfSwitch) }

// LeavesSwitch says that a profile was below a bridge of Open vSwitch and is no longer.
func (c *Change) LeavesSwitch() bool {
	if c.Before == nil || profile.LayerOf(c.Before.Settings.ControllerKind()) == profile.LayerLink {
		return false
	}
	return c.Action == ActRemove || c.After.Controller() != c.Before.Settings.Controller()
}

// OfSwitch says that the change is of a bridge, a port or an interface that Open vSwitch makes.
func (c *Change) OfSwitch() bool {
	return c.Layer() != profile.LayerLink || c.After.Kind() == profile.TypeOVSInterface
}
