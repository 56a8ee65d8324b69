package observe

import (
	"cmp"
	"maps"
	"net"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Complete fills in what no other witness tells of an interface, from the connection that NetworkManager has applied to its
// device. What is observed already stays.
func Complete(i *netstate.Interface, s profile.Settings) {
	fillFromProfile(i, s)
	if i.AcceptAll == nil {
		i.AcceptAll = new(profile.Value[int32](s, profile.TypeEthernet, "accept-all-mac-addresses") == 1)
	}
	if s.Kind() == profile.TypeEthernet {
		i.Ethernet = completeEthernet(i.Ethernet, s)
	}
	if i.MACVLAN != nil && i.MACVLAN.Promiscuous == nil {
		i.MACVLAN.Promiscuous = new(flagOf(s, profile.TypeMACVLAN, "promiscuous", true))
	}
	if i.Bond != nil {
		options := netstate.Options{}
		maps.Copy(options, profile.Value[map[string]string](s, profile.TypeBond, "options"))
		delete(options, "mode")
		maps.Copy(options, i.Bond.Options)
		i.Bond.Options = options
	}
	if i.Bridge != nil && i.Bridge.Options != nil && s.Kind() == profile.TypeBridge {
		bridgeOptions(i.Bridge.Options, s)
	}
}

// fillFromProfile is what NetworkManager alone knows of an interface. A key file says it, too: profile.FromKeyfile reads all of it.
func fillFromProfile(i *netstate.Interface, s profile.Settings) {
	i.LLDP, i.WaitIP = lldpOf(s), waitIP(s)
	for _, f := range []netstate.Family{netstate.IPv4, netstate.IPv6} {
		if ip := f.Of(*i); ip.Auto() {
			fillAddressing(ip, s, f)
		}
	}
	if mode, ok := s["ipv6"]["addr-gen-mode"].Value().(int32); ok && i.IPv6 != nil {
		i.IPv6.AddrGenMode = addrModes[mode]
	}
}

// Member is what a profile says of an interface as a port of a bond.
func Member(name string, s profile.Settings) netstate.BondMember {
	return netstate.BondMember{
		Name: name, Priority: new(int(profile.Value[int32](s, "bond-port", "prio"))),
		QueueID: new(int(profile.Value[uint32](s, "bond-port", "queue-id"))),
	}
}

// lldpOf is on where the profile says so; the default of NetworkManager is off.
func lldpOf(s profile.Settings) *netstate.LLDP {
	return &netstate.LLDP{Enabled: new(profile.Value[int32](s, "connection", "lldp") == 1)}
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

// completeEthernet is what NetworkManager asked of a card whose driver does not tell what it does.
func completeEthernet(have *netstate.Ethernet, s profile.Settings) *netstate.Ethernet {
	out := netstate.Ethernet{}
	if have != nil {
		out = *have
	}
	if out.AutoNegotiation == nil {
		out.AutoNegotiation = new(profile.Value[bool](s, profile.TypeEthernet, "auto-negotiate"))
	}
	if out.Speed == 0 {
		out.Speed = int(profile.Value[uint32](s, profile.TypeEthernet, "speed"))
	}
	out.Duplex = cmp.Or(out.Duplex, profile.Value[string](s, profile.TypeEthernet, "duplex"))
	return &out
}

// bridgeOptions are those that a kernel may be built without.
func bridgeOptions(o *netstate.BridgeOptions, s profile.Settings) {
	const sec = profile.TypeBridge
	number := func(at **int, key string) {
		if v, ok := s[sec][key].Value().(uint32); ok && *at == nil {
			*at = new(int(v))
		}
	}
	wide := func(at **int, key string) {
		if v, ok := s[sec][key].Value().(uint64); ok && *at == nil {
			*at = new(int(v))
		}
	}
	flag := func(at **bool, key string, unset bool) {
		if *at == nil {
			*at = new(flagOf(s, sec, key, unset))
		}
	}
	number(&o.HashMax, "multicast-hash-max")
	number(&o.GroupForwardMask, "group-forward-mask")
	number(&o.MulticastLastMemberCount, "multicast-last-member-count")
	wide(&o.MulticastLastMemberInterval, "multicast-last-member-interval")
	wide(&o.MulticastMembershipInterval, "multicast-membership-interval")
	flag(&o.MulticastQuerier, "multicast-querier", false)
	wide(&o.MulticastQuerierInterval, "multicast-querier-interval")
	wide(&o.MulticastQueryInterval, "multicast-query-interval")
	wide(&o.MulticastQueryResponse, "multicast-query-response-interval")
	flag(&o.MulticastQueryUseIfaddr, "multicast-query-use-ifaddr", false)
	flag(&o.MulticastSnooping, "multicast-snooping", true)
	number(&o.MulticastStartupCount, "multicast-startup-query-count")
	wide(&o.MulticastStartupInterval, "multicast-startup-query-interval")
	number(&o.VLANDefaultPVID, "vlan-default-pvid")
	o.MulticastRouter = cmp.Or(o.MulticastRouter, profile.Value[string](s, sec, "multicast-router"), "auto")
	o.VLANProtocol = cmp.Or(o.VLANProtocol, strings.ToLower(profile.Value[string](s, sec, "vlan-protocol")), "802.1q")
	if o.GroupAddr == "" {
		o.GroupAddr = strings.ToUpper(net.HardwareAddr(profile.Value[[]byte](s, sec, "group-address")).String())
	}
}

// Names of NetworkManager for what nmstate calls otherwise.
var (
	clientIDs = map[string]string{"mac": "ll", "duid": "iaid+duid"}
	duids     = map[string]string{"lease": "en", "stable-uuid": "uuid"}
	addrModes = map[int32]string{0: "eui64", 1: "stable-privacy"}
)

// fillAddressing is how a family that is automatic gets what it has.
func fillAddressing(ip *netstate.IP, s profile.Settings, f netstate.Family) {
	sec := profile.Section(f)
	ip.AutoDNS, ip.AutoGateway = new(!flagOf(s, sec, "ignore-auto-dns", false)), new(!flagOf(s, sec, "never-default", false))
	ip.AutoRoutes = new(!flagOf(s, sec, "ignore-auto-routes", false))
	ip.AutoRouteTableID = new(int(profile.Value[uint32](s, sec, "route-table")))
	if m, ok := s[sec]["route-metric"].Value().(int64); ok && m >= 0 {
		ip.AutoRouteMetric = new(int(m))
	}
	ip.DHCPSendHostname = new(flagOf(s, sec, "dhcp-send-hostname", true))
	ip.DHCPCustomHostname = new(profile.Value[string](s, sec, "dhcp-hostname"))
	if f == netstate.IPv4 {
		id := profile.Value[string](s, sec, "dhcp-client-id")
		ip.DHCPClientID = cmp.Or(clientIDs[id], id)
		return
	}
	id := profile.Value[string](s, sec, "dhcp-duid")
	ip.DHCPDUID = cmp.Or(duids[id], id)
	ip.Token = new(profile.Value[string](s, sec, "token"))
}
