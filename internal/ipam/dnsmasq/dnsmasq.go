// Package dnsmasq writes the dnsmasq configuration of a provisioning network, and reads
// the leases dnsmasq has given. Static addresses and leases come out of one subnet; this
// is where the two are kept apart.
//
// The host-network controller and kubectl-lca's ipam verb call it. It imports the arithmetic
// and does no I/O of its own. The file format is dnsmasq(8)'s.
package dnsmasq

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"go4.org/netipx"

	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

// Config is a network on which dnsmasq answers DHCP.
type Config struct {
	Network   string
	Interface string
	// Subnet and Range: what the network is, and which part of it is leased.
	Subnet netip.Prefix
	Range  netipx.IPRange
	// Gateway and DNS are sent to the clients; without them none is sent, and clients keep
	// what their other networks say.
	Gateway netip.Addr
	DNS     []netip.Addr
	// Static are ranges and addresses that must never be leased.
	Static []Static
	// Hosts always get the same address, out of Range.
	Hosts []Host
	// LeaseTime is dnsmasq's notation; empty means infinite: a host that is being
	// provisioned must not lose its address because the server was away.
	LeaseTime string
	LeaseFile string
	// Boot is what hosts boot over the network; nil answers DHCP alone.
	Boot *Boot
}

// Boot is how hosts boot over the network: firmware loads iPXE over TFTP, and iPXE its script over HTTP.
type Boot struct {
	// Server is the address of both servers; that of dnsmasq itself serves TFTP.
	Server netip.Addr
	// HTTPPort serves boot.ipxe.
	HTTPPort int
	// TFTPRoot is the directory with undionly.kpxe, snponly.efi and arm64-efi/snponly.efi.
	TFTPRoot string
}

// Static is a range with the words that name it.
type Static struct {
	What  string
	Range netipx.IPRange
}

// Host is a lease known beforehand.
type Host struct {
	MAC     string
	Address netip.Addr
	Name    string
}

// Of is the configuration a pool implies: its DHCP range in the subnet it lies in, kept
// apart from the pool's own ranges and those of the other pools of the network.
func Of(pool ipam.Spec, iface string, others ...ipam.Spec) (Config, error) {
	c := Config{Network: pool.Network, Interface: iface, Range: pool.DHCP, Gateway: pool.Gateway, DNS: pool.DNS}
	if !pool.DHCP.From().IsValid() {
		return c, fmt.Errorf("pool %s has no DHCP range", pool.Name)
	}
	if err := ipam.Validate(pool); err != nil {
		return c, err
	}
	for _, n := range ipam.Networks(pool) {
		if n.Contains(pool.DHCP.From()) {
			c.Subnet = n
		}
	}
	if !c.Subnet.IsValid() {
		return c, fmt.Errorf("pool %s: DHCP range %s lies in no subnet the pool names: a lease needs a prefix length", pool.Name, pool.DHCP)
	}
	for _, s := range append([]ipam.Spec{pool}, others...) {
		if s.Network != pool.Network {
			continue
		}
		for _, b := range ipam.Bounds(s) {
			c.Static = append(c.Static, Static{"range " + b.String() + " of pool " + s.Name, b})
		}
	}
	return c, nil
}

// Validate says everything dnsmasq would take in silence and should not. It swaps
// reversed ends, and it knows nothing of static addresses.
func (c Config) Validate() error {
	var problems []error
	add := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("network %s: "+format, append([]any{c.Network}, args...)...))
	}
	if strings.ContainsAny(c.LeaseFile, "\n#") {
		add("%q is not the path of a lease file", c.LeaseFile)
	}
	if c.Interface == "" || strings.ContainsAny(c.Interface, " ,\n#") {
		add("%q is not the name of an interface", c.Interface)
	}
	for _, check := range []func(func(string, ...any)){c.checkRange, c.checkBoot, c.checkApart, c.checkHosts} {
		if len(problems) == 0 {
			check(add) // each needs what the one before makes sure of
		}
	}
	return errors.Join(problems...)
}

func (c Config) checkRange(add func(string, ...any)) {
	from, to := c.Range.From(), c.Range.To()
	switch {
	case !c.Subnet.IsValid() || !from.IsValid() || !to.IsValid():
		add("a DHCP range needs a subnet, a start and an end")
	case from.Is4() != to.Is4() || from.Is4() != c.Subnet.Addr().Is4():
		add("DHCP range %s-%s and subnet %s mix IPv4 and IPv6", from, to, c.Subnet)
	case to.Less(from):
		add("DHCP range %s-%s is reversed: it ends before it starts", from, to)
	case !c.Subnet.Contains(from) || !c.Subnet.Contains(to):
		add("DHCP range %s leaves subnet %s", c.Range, c.Subnet.Masked())
	case from.Is6() && c.Subnet.Bits() < 64:
		add("subnet %s is wider than a /64, which is the widest dnsmasq leases from", c.Subnet.Masked())
	}
	if strings.ContainsAny(c.LeaseTime, " ,\n#") {
		add("%q is not a lease time", c.LeaseTime)
	}
}

func (c Config) checkBoot(add func(string, ...any)) {
	if c.Boot == nil {
		return
	}
	if !c.Boot.Server.IsValid() || c.Boot.Server.Is4() != c.Subnet.Addr().Is4() {
		add("boot server %s is not of the family of subnet %s", c.Boot.Server, c.Subnet.Masked())
	}
	if c.Boot.HTTPPort < 1 || c.Boot.HTTPPort > 65535 {
		add("%d is not the port of a boot server", c.Boot.HTTPPort)
	}
	if !strings.HasPrefix(c.Boot.TFTPRoot, "/") || strings.ContainsAny(c.Boot.TFTPRoot, " ,\n#") {
		add("%q is not the directory of a TFTP server", c.Boot.TFTPRoot)
	}
}

func (c Config) checkApart(add func(string, ...any)) {
	taken := append([]Static(nil), c.Static...)
	if c.Boot != nil {
		taken = append(taken, Static{"the boot server", netipx.IPRangeFrom(c.Boot.Server, c.Boot.Server)})
	}
	if c.Gateway.IsValid() {
		taken = append(taken, Static{"the gateway", netipx.IPRangeFrom(c.Gateway, c.Gateway)})
	}
	if c.Subnet.IsValid() && c.Subnet.Addr().Is4() && c.Subnet.Bits() < 31 {
		whole := netipx.RangeOfPrefix(c.Subnet.Masked())
		taken = append(taken, Static{"the network address", netipx.IPRangeFrom(whole.From(), whole.From())},
			Static{"the broadcast address", netipx.IPRangeFrom(whole.To(), whole.To())})
	}
	for _, s := range taken {
		if s.Range.Overlaps(c.Range) {
			at := s.Range.From()
			if at.Less(c.Range.From()) {
				at = c.Range.From()
			}
			add("DHCP range %s overlaps %s at %s", c.Range, s.What, at)
		}
	}
}

func (c Config) checkHosts(add func(string, ...any)) {
	seen := map[netip.Addr]string{}
	for _, h := range c.Hosts {
		if hw, err := net.ParseMAC(h.MAC); err != nil || len(hw) != 6 {
			add("%q is not a MAC address", h.MAC)
		}
		if strings.ContainsAny(h.Name, " ,\n#") {
			add("%q is not the name of a host", h.Name)
		}
		if !c.Range.Contains(h.Address) {
			add("address %s of %s lies outside the DHCP range %s", h.Address, h.MAC, c.Range)
		}
		if other, twice := seen[h.Address]; twice {
			add("address %s is given to both %s and %s", h.Address, other, h.MAC)
		}
		seen[h.Address] = h.MAC
	}
}
