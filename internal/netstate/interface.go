package netstate

import (
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/keys"
)

// Interface states. StateIgnore is reported for links that NetworkManager does not manage; in a desired document
// it takes the interface out of it.
const (
	StateUp     = "up"
	StateDown   = "down"
	StateAbsent = "absent"
	StateIgnore = "ignore"
)

// Interface types this package knows by name. Others can be observed; they cannot be configured.
const (
	TypeEthernet     = "ethernet"
	TypeVeth         = "veth"
	TypeVLAN         = "vlan"
	TypeBond         = "bond"
	TypeLinuxBridge  = "linux-bridge"
	TypeOVSBridge    = "ovs-bridge"
	TypeOVSInterface = "ovs-interface"
	TypeDummy        = "dummy"
	TypeMACVLAN      = "mac-vlan"
	TypeVRF          = "vrf"
	TypeMACVTAP      = "mac-vtap"
	TypeVXLAN        = "vxlan"
	TypeMACSec       = "macsec"
	TypeIPVLAN       = "ipvlan"
	TypeLoopback     = "loopback"
	TypeUnknown      = "unknown"
)

// LoopbackName is the name of the only interface of type loopback.
const LoopbackName = "lo"

// Values of Interface.Identifier.
const (
	IdentifierName = "name"
	IdentifierMAC  = "mac-address"
)

// Interface is one network interface.
type Interface struct {
	Name        string  `json:"name"`
	ProfileName string  `json:"profile-name,omitempty"`
	Description *string `json:"description,omitempty"`
	Type        string  `json:"type,omitempty"`
	State       string  `json:"state,omitempty"`
	// Identifier of "mac-address" finds the link by MACAddress; Name is then the name of the profile.
	Identifier          string `json:"identifier,omitempty"`
	MACAddress          string `json:"mac-address,omitempty"`
	PermanentMACAddress string `json:"permanent-mac-address,omitempty" support:"read"`
	CopyMACFrom         string `json:"copy-mac-from,omitempty"`
	MTU                 int    `json:"mtu,omitempty"`
	MinMTU              int    `json:"min-mtu,omitempty" support:"read"`
	MaxMTU              int    `json:"max-mtu,omitempty" support:"read"`
	// WaitIP says which families must have an address before NetworkManager calls the interface up.
	WaitIP string `json:"wait-ip,omitempty"`
	// Controller is the short way to attach a port; "" detaches it.
	Controller *string `json:"controller,omitempty" alias:"master"`
	AcceptAll  *bool   `json:"accept-all-mac-addresses,omitempty"`
	IPv4       *IP     `json:"ipv4,omitempty"`
	IPv6       *IP     `json:"ipv6,omitempty"`
	LLDP       *LLDP   `json:"lldp,omitempty"`
	MPTCP      *MPTCP  `json:"mptcp,omitempty"`

	Ethernet *Ethernet `json:"ethernet,omitempty"`
	Ethtool  *Ethtool  `json:"ethtool,omitempty"`
	Dot1X    *Dot1X    `json:"802.1x,omitempty"`
	Veth     *Veth     `json:"veth,omitempty"`
	VLAN     *VLAN     `json:"vlan,omitempty"`
	Bond     *Bond     `json:"link-aggregation,omitempty"`
	Bridge   *Bridge   `json:"bridge,omitempty"`
	Patch    *Patch    `json:"patch,omitempty"`
	MACVLAN  *MACVLAN  `json:"mac-vlan,omitempty"`
	MACVTAP  *MACVLAN  `json:"mac-vtap,omitempty"`
	VRF      *VRF      `json:"vrf,omitempty"`
	VXLAN    *VXLAN    `json:"vxlan,omitempty"`
	MACSec   *MACSec   `json:"macsec,omitempty"`
	IPVLAN   *IPVLAN   `json:"ipvlan,omitempty"`
	OVSDB    *OVSDB    `json:"ovs-db,omitempty"`

	// HasCarrier is what an observer knows of a link that hears its other end. No document says it.
	HasCarrier bool `json:"-"`

	// Driver is what the kernel calls the link's driver.
	Driver string `json:"driver,omitempty" support:"read"`

	// What nmstate knows and this product neither reads nor writes; kept so that it can be named when refused.
	AltNames   *Opaque `json:"alt-names,omitempty" support:"no"`
	Dispatch   *Opaque `json:"dispatch,omitempty" support:"no"`
	DPDK       *Opaque `json:"dpdk,omitempty" support:"no"`
	HSR        *Opaque `json:"hsr,omitempty" support:"no"`
	Infiniband *Opaque `json:"infiniband,omitempty" support:"no"`
	IPSec      *Opaque `json:"libreswan,omitempty" support:"no"`
	PCIAddress *Opaque `json:"pci-address,omitempty" support:"no"`
}

// LLDP switches the reception of link-layer discovery packets.
type LLDP struct {
	Enabled   *bool   `json:"enabled,omitempty"`
	Neighbors *Opaque `json:"neighbors,omitempty" support:"read"`
}

// MPTCP says how Multipath TCP uses the addresses of an interface. No flag switches it off, and "default" leaves it to NetworkManager.
type MPTCP struct {
	AddressFlags []string `json:"address-flags,omitzero"`
}

// canonical has the flags in the order of the alphabet; nil where they are left to NetworkManager.
func (m *MPTCP) canonical() *MPTCP {
	if m == nil || m.AddressFlags == nil || slices.Equal(m.AddressFlags, []string{keys.MPTCPUnset}) {
		return nil
	}
	return &MPTCP{AddressFlags: slices.Compact(sortedStrings(m.AddressFlags))}
}

// IP is one family's configuration of an interface. Enabled that is not mentioned stays what it is.
type IP struct {
	Enabled *bool `json:"enabled,omitempty"`
	DHCP    *bool `json:"dhcp,omitempty"`
	// Autoconf takes addresses from router advertisements; IPv6 only.
	Autoconf *bool `json:"autoconf,omitempty"`
	// Addresses replace what is there: nil keeps them, an empty list removes them.
	Addresses []Address `json:"address,omitzero"`
	// AllowExtraAddress false fails the verification where there are more addresses than Addresses.
	AllowExtraAddress *bool `json:"allow-extra-address,omitempty"`
	AutoDNS           *bool `json:"auto-dns,omitempty"`
	AutoGateway       *bool `json:"auto-gateway,omitempty"`
	AutoRoutes        *bool `json:"auto-routes,omitempty"`
	AutoRouteTableID  *int  `json:"auto-route-table-id,omitempty"`
	AutoRouteMetric   *int  `json:"auto-route-metric,omitempty"`
	// DHCPClientID is "ll", "iaid+duid" or bytes in hexadecimal; DHCPDUID is "ll", "llt", "en", "uuid" or bytes. An empty one leaves it
	// to NetworkManager.
	DHCPClientID       *string `json:"dhcp-client-id,omitempty"`
	DHCPDUID           *string `json:"dhcp-duid,omitempty"`
	DHCPSendHostname   *bool   `json:"dhcp-send-hostname,omitempty"`
	DHCPCustomHostname *string `json:"dhcp-custom-hostname,omitempty"`
	// AddrGenMode is "eui64", "stable-privacy", or what NetworkManager's configuration says ("default", "default-or-eui64"); IPv6 only.
	AddrGenMode string  `json:"addr-gen-mode,omitempty"`
	Token       *string `json:"token,omitempty"`
	Forwarding  *bool   `json:"forwarding,omitempty" support:"no"`
}

// Address is an IP address with its prefix length. One with a lifetime came from the network.
type Address struct {
	IP                string `json:"ip"`
	PrefixLength      int    `json:"prefix-length"`
	ValidLifetime     string `json:"valid-life-time,omitempty" support:"read"`
	PreferredLifetime string `json:"preferred-life-time,omitempty" support:"read"`
	// Leased is what an observer knows of an address that ends unless the network renews it. No document says it.
	Leased bool `json:"-"`
}

// Dynamic says that the address was leased or advertised.
func (a Address) Dynamic() bool { return a.ValidLifetime != "" || a.PreferredLifetime != "" }

// On says that the family is enabled; what is not mentioned is not.
func (ip *IP) On() bool { return ip != nil && isTrue(ip.Enabled) }

// Off says that the family is disabled in so many words.
func (ip *IP) Off() bool { return ip != nil && ip.Enabled != nil && !*ip.Enabled }

// ImpliedGenMode is addr-gen-mode, or what a token makes of it where that is left out: NetworkManager takes one with eui64 alone.
func (ip *IP) ImpliedGenMode() string {
	if token := textOf(ip.Token); ip.AddrGenMode == "" && token != "" && token != "::" {
		return "eui64"
	}
	return ip.AddrGenMode
}

// Disabled is the configuration of a family that is off.
func Disabled() *IP { return &IP{Enabled: new(false)} }
