// Package networkdata writes a host's networks as the OpenStack network_data.json that
// metal3 puts on a config drive (BareMetalHost.spec.networkData).
//
// The host-network controller and kubectl-lca's ipam verb call it. It imports hostnet, and
// does no I/O.
package networkdata

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/hostnet"
)

// Document is network_data.json.
type Document struct {
	Links    []Link    `json:"links"`
	Networks []Network `json:"networks"`
	Services []Service `json:"services"`
}

// Link is an interface, found by its MAC address.
type Link struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	MAC      string `json:"ethernet_mac_address,omitempty"`
	MTU      int    `json:"mtu,omitempty"`
	VLANLink string `json:"vlan_link,omitempty"`
	VLANID   int    `json:"vlan_id,omitempty"`
	VLANMAC  string `json:"vlan_mac_address,omitempty"`
}

// Network is an address on a link.
type Network struct {
	ID      string  `json:"id"`
	Type    string  `json:"type"`
	Link    string  `json:"link"`
	Address string  `json:"ip_address"`
	Netmask string  `json:"netmask"`
	Routes  []Route `json:"routes"`
}

// Route is a route of a network.
type Route struct {
	Network string `json:"network"`
	Netmask string `json:"netmask"`
	Gateway string `json:"gateway"`
}

// Service is a name server.
type Service struct {
	Type    string `json:"type"`
	Address string `json:"address"`
}

// Render describes the host. Every interface needs a MAC address: that is what a config
// drive finds interfaces by.
func Render(h hostnet.Host) ([]byte, error) {
	if err := h.Validate(); err != nil {
		return nil, err
	}
	d := Document{Links: []Link{}, Networks: []Network{}, Services: []Service{}}
	for _, i := range h.Interfaces {
		if i.MAC == "" {
			return nil, fmt.Errorf("host %s: interface %s: networkData needs its MAC address", h.Name, i.Device())
		}
		link := d.addLink(i)
		d.addNetworks(i, link)
		for _, a := range i.DNS {
			d.Services = append(d.Services, Service{"dns", a.String()})
		}
	}
	out, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("host %s: encode networkData: %w", h.Name, err)
	}
	return append(out, '\n'), nil
}

// addLink adds the interface, and below a VLAN the one that carries it.
func (d *Document) addLink(i hostnet.Interface) string {
	mac, below := strings.ToLower(i.MAC), i.Name
	if below == "" {
		below = "if-" + strings.ReplaceAll(mac, ":", "")
	}
	if !d.hasLink(below) {
		d.Links = append(d.Links, Link{ID: below, Type: "phy", MAC: mac, MTU: i.MTU})
	}
	if i.VLAN == 0 {
		return below
	}
	d.Links = append(d.Links, Link{ID: i.Device(), Type: "vlan", MTU: i.MTU, VLANLink: below, VLANID: i.VLAN, VLANMAC: mac})
	return i.Device()
}

func (d *Document) hasLink(id string) bool {
	for _, l := range d.Links {
		if l.ID == id {
			return true
		}
	}
	return false
}

func (d *Document) addNetworks(i hostnet.Interface, link string) {
	for _, a := range i.Addresses {
		n := Network{
			ID: fmt.Sprintf("network%d", len(d.Networks)), Type: networkType(a.Prefix.Addr()), Link: link,
			Address: a.Prefix.Addr().String(), Netmask: formatMask(a.Prefix), Routes: []Route{},
		}
		for _, r := range i.AllRoutes() {
			if a.Prefix.Contains(r.Via) {
				n.Routes = append(n.Routes, Route{r.Destination.Addr().String(), formatMask(r.Destination), r.Via.String()})
			}
		}
		d.Networks = append(d.Networks, n)
	}
}

func networkType(a netip.Addr) string {
	if a.Is4() {
		return "ipv4"
	}
	return "ipv6"
}

// formatMask writes a prefix length the long way.
func formatMask(p netip.Prefix) string {
	b := make([]byte, p.Addr().BitLen()/8)
	for bit := range p.Bits() {
		b[bit/8] |= 1 << (7 - bit%8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a.String()
}
