// Package netstate is the nmstate document as values: decode, encode, compare.
// It does no I/O. Domain packages, host ports and adapters import it; it
// imports the standard library and a YAML codec only.
//
// Format: https://nmstate.io, the bare-metal subset this product writes and reads.
package netstate

import (
	"fmt"

	"sigs.k8s.io/yaml"
)

// Document is desired or current network state.
type Document struct {
	Interfaces []Interface `json:"interfaces,omitempty"`
	Routes     *Routes     `json:"routes,omitempty"`
	DNS        *DNS        `json:"dns-resolver,omitempty"`
}

// Interface states and types this package knows by name.
const (
	StateUp     = "up"
	StateDown   = "down"
	StateAbsent = "absent"

	TypeEthernet     = "ethernet"
	TypeBond         = "bond"
	TypeVLAN         = "vlan"
	TypeOVSBridge    = "ovs-bridge"
	TypeOVSInterface = "ovs-interface"
)

// Interface is one network interface.
type Interface struct {
	Name       string  `json:"name"`
	Type       string  `json:"type,omitempty"`
	State      string  `json:"state,omitempty"`
	MTU        int     `json:"mtu,omitempty"`
	MACAddress string  `json:"mac-address,omitempty"`
	VLAN       *VLAN   `json:"vlan,omitempty"`
	IPv4       *IP     `json:"ipv4,omitempty"`
	IPv6       *IP     `json:"ipv6,omitempty"`
	Bridge     *Bridge `json:"bridge,omitempty"`
}

// VLAN is an 802.1Q tag on a base interface.
type VLAN struct {
	ID        int    `json:"id"`
	BaseIface string `json:"base-iface,omitempty"`
}

// Bridge lists the ports of a bridge.
type Bridge struct {
	AllowExtraPatchPorts bool         `json:"allow-extra-patch-ports,omitempty"`
	Ports                []BridgePort `json:"port,omitempty"`
}

// BridgePort is one port of a bridge.
type BridgePort struct {
	Name string `json:"name"`
}

// IP is one family's configuration of an interface.
type IP struct {
	Enabled   bool      `json:"enabled"`
	DHCP      *bool     `json:"dhcp,omitempty"`
	Autoconf  *bool     `json:"autoconf,omitempty"`
	Addresses []Address `json:"address,omitempty"`
}

// Address is an IP address with its prefix length.
type Address struct {
	IP           string `json:"ip"`
	PrefixLength int    `json:"prefix-length"`
}

// Routes holds the desired (config) and observed (running) routes.
type Routes struct {
	Running []Route `json:"running,omitempty"`
	Config  []Route `json:"config,omitempty"`
}

// Route is one route; State "absent" in a desired document removes matching ones.
type Route struct {
	Destination      string `json:"destination"`
	NextHopInterface string `json:"next-hop-interface,omitempty"`
	NextHopAddress   string `json:"next-hop-address,omitempty"`
	Metric           int    `json:"metric,omitempty"`
	TableID          int    `json:"table-id,omitempty"`
	State            string `json:"state,omitempty"`
}

// DNS holds the desired (config) and observed (running) resolver settings.
type DNS struct {
	Running *Resolver `json:"running,omitempty"`
	Config  *Resolver `json:"config,omitempty"`
}

// Resolver is an ordered list of servers and search domains.
type Resolver struct {
	Server []string `json:"server,omitempty"`
	Search []string `json:"search,omitempty"`
}

// Decode reads a YAML or JSON document. Keys it does not know are refused, so
// that a misspelt one cannot be lost in silence.
func Decode(data []byte) (Document, error) {
	var d Document
	if err := yaml.UnmarshalStrict(data, &d); err != nil {
		return Document{}, fmt.Errorf("decode network document: %w", err)
	}
	return d, nil
}

// Encode writes the document as YAML.
func (d Document) Encode() ([]byte, error) {
	out, err := yaml.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encode network document: %w", err)
	}
	return out, nil
}

// Find returns the named interface; two may share a name (an OVS bridge and
// its internal port), so the type decides unless it is empty.
func (d Document) Find(name, ifaceType string) (Interface, bool) {
	for _, i := range d.Interfaces {
		if i.Name == name && (ifaceType == "" || i.Type == ifaceType) {
			return i, true
		}
	}
	return Interface{}, false
}
