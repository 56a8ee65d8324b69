package observe

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/property"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/keys"
)

// Complete fills in what no other witness tells of an interface, from the connection that NetworkManager has applied to its
// device. What is observed already stays.
func Complete(i *netstate.Interface, s profile.Settings) {
	fillFromProfile(i, s)
	ofKernel := func(r keys.Row) bool { return r.Witness != keys.Applied } // where the kernel does not tell, it does not do it
	property.Fill(slices.DeleteFunc(keys.In(keys.Links, i.Type), ofKernel), i, s)
	if i.Bond != nil {
		options := netstate.Options{}
		maps.Copy(options, profile.Value[map[string]string](s, profile.TypeBond, "options"))
		delete(options, "mode")
		maps.Copy(options, i.Bond.Options)
		i.Bond.Options = options
	}
}

// fillFromProfile is what NetworkManager alone knows of an interface. A key file says it, too: profile.FromKeyfile reads all of it.
func fillFromProfile(i *netstate.Interface, s profile.Settings) {
	i.LLDP, i.MPTCP, i.WaitIP = &netstate.LLDP{}, &netstate.MPTCP{}, waitIP(s)
	otherwise := func(r keys.Row) bool { return r.Property.Setting != "connection" && r.Witness != keys.Stored }
	property.Fill(slices.DeleteFunc(keys.In(keys.Links, i.Type), otherwise), i, s)
	if i.MPTCP.AddressFlags == nil {
		i.MPTCP = nil
	}
	for _, f := range []netstate.Family{netstate.IPv4, netstate.IPv6} {
		ip := f.Of(*i)
		if ip == nil || s[profile.Section(f)] == nil { // a port of a bridge or bond has no family
			continue
		}
		rows := keys.In(map[netstate.Family]string{netstate.IPv4: keys.IPv4, netstate.IPv6: keys.IPv6}[f], "")
		property.Fill(slices.DeleteFunc(rows, func(r keys.Row) bool { return r.Property.Automatic && !ip.Auto() }), ip, s)
	}
}

// Member is what a profile says of an interface as a port of a bond.
func Member(name string, s profile.Settings) netstate.BondMember {
	out := netstate.BondMember{Name: name}
	property.Fill(keys.In(keys.BondPorts, netstate.TypeBond), &out, s)
	return out
}

func flagOf(s profile.Settings, section, key string, unset bool) bool {
	if v, ok := s[section][key].Value().(bool); ok {
		return v
	}
	return unset
}

// waitIP is nmstate's word for the families that may not fail.
func waitIP(s profile.Settings) string {
	var wait []string
	for _, sec := range []string{"ipv4", "ipv6"} {
		if !flagOf(s, sec, "may-fail", true) {
			wait = append(wait, sec)
		}
	}
	return cmp.Or(strings.Join(wait, "+"), "any")
}
