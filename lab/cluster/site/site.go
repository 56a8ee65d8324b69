// Package site names a lab node and where it stands.
//
// It is called by lab/cluster and its rooms. Like all of lab/cluster it imports nothing of the product.
package site

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// Site names one lab node and where it stands. The zero value of every field means the lab's default.
type Site struct {
	Hostname    string // host name and Node name; "sno"
	ClusterName string // "lab"
	BaseDomain  string // "example.com"
	// Addresses are the node's addresses with the prefix length of their machine network, the primary first: at most one of
	// each family. 192.0.2.10/24.
	Addresses []netip.Prefix
	Gateways  []netip.Addr // default gateways; 192.0.2.1 when Addresses is left out
	DNS       []netip.Addr // upstream name servers; may stay empty
}

// WithDefaults returns the site with unset fields filled in.
func (s Site) WithDefaults() Site {
	if s.Hostname == "" {
		s.Hostname = "sno"
	}
	if s.ClusterName == "" {
		s.ClusterName = "lab"
	}
	if s.BaseDomain == "" {
		s.BaseDomain = "example.com"
	}
	if len(s.Addresses) == 0 {
		s.Addresses = []netip.Prefix{netip.MustParsePrefix("192.0.2.10/24")}
		if len(s.Gateways) == 0 {
			s.Gateways = []netip.Addr{netip.MustParseAddr("192.0.2.1")}
		}
	}
	return s
}

// Domain is the cluster's domain, under which api, api-int and *.apps live.
func (s Site) Domain() string { return s.ClusterName + "." + s.BaseDomain }

// Primary is the node's primary address.
func (s Site) Primary() netip.Addr { return s.Addresses[0].Addr() }

// IPs lists the node's addresses, primary first.
func (s Site) IPs() []netip.Addr {
	ips := make([]netip.Addr, 0, len(s.Addresses))
	for _, p := range s.Addresses {
		ips = append(ips, p.Addr())
	}
	return ips
}

// MachineNetworks lists the masked networks of the addresses, in the same order.
func (s Site) MachineNetworks() []netip.Prefix {
	nets := make([]netip.Prefix, 0, len(s.Addresses))
	for _, p := range s.Addresses {
		nets = append(nets, p.Masked())
	}
	return nets
}

// EtcdURL is the client URL of the node's etcd. OpenShift names a member by its primary address only.
func (s Site) EtcdURL() string {
	return "https://" + netip.AddrPortFrom(s.Primary(), 2379).String()
}

// ListenHost is the wildcard a server binds to: all of IPv4, or everything when the node has an IPv6 address.
func (s Site) ListenHost() string {
	for _, ip := range s.IPs() {
		if ip.Is6() {
			return "[::]"
		}
	}
	return "0.0.0.0"
}

// ServiceNetworks are OpenShift's defaults for the node's families, in the order of its addresses.
func (s Site) ServiceNetworks() []string {
	nets := make([]string, 0, len(s.Addresses))
	for _, ip := range s.IPs() {
		if ip.Is4() {
			nets = append(nets, "172.30.0.0/16")
		} else {
			nets = append(nets, "fd02::/112")
		}
	}
	return nets
}

// Validate says why there is no such node, or nil.
func (s Site) Validate() error {
	if s.Hostname == "localhost" {
		return errors.New("site: the node must not be called localhost")
	}
	if len(s.Addresses) > 2 {
		return fmt.Errorf("site: %d addresses, at most one of each family", len(s.Addresses))
	}
	for _, p := range s.Addresses {
		if !p.IsValid() || p.Addr().Is4In6() || p.Addr().Zone() != "" {
			return fmt.Errorf("site: %q is not a plain address with a prefix length", p)
		}
	}
	if len(s.Addresses) == 2 && s.Addresses[0].Addr().Is4() == s.Addresses[1].Addr().Is4() {
		return errors.New("site: both addresses are of one family")
	}
	return nil
}

// ServicesSubnet is how kube-apiserver takes the service networks.
func (s Site) ServicesSubnet() string { return strings.Join(s.ServiceNetworks(), ",") }

// PodNetwork is one network of pods, as install-config has it.
type PodNetwork struct {
	CIDR       string `json:"cidr"`
	HostPrefix int    `json:"hostPrefix"`
}

// PodNetworks are OpenShift's defaults for the node's families.
func (s Site) PodNetworks() []PodNetwork {
	var nets []PodNetwork
	for _, ip := range s.IPs() {
		if ip.Is4() {
			nets = append(nets, PodNetwork{"10.128.0.0/14", 23})
		} else {
			nets = append(nets, PodNetwork{"fd01::/48", 64})
		}
	}
	return nets
}

// URLHost is the address as a URL's host: IPv6 in brackets.
func URLHost(ip netip.Addr) string {
	if ip.Is6() {
		return "[" + ip.String() + "]"
	}
	return ip.String()
}
