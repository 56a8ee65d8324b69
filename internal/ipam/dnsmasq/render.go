package dnsmasq

import (
	"fmt"
	"net/netip"
	"strings"

	"go4.org/netipx"
)

// header heads the file.
const header = "# Written from an address pool; changes made here are lost.\n"

// Render writes the file.
func (c Config) Render() (string, error) {
	if err := c.Validate(); err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(header)
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("port=0") // DHCP only: the hosts' resolver is another one
	line("interface=%s", c.Interface)
	line("bind-dynamic")
	line("except-interface=lo")
	if c.LeaseFile != "" {
		line("dhcp-leasefile=%s", c.LeaseFile)
	}
	if c.Boot != nil {
		line("enable-tftp")
		line("tftp-root=%s", c.Boot.TFTPRoot)
	}
	if c.Subnet.Addr().Is4() {
		c.writeV4(line)
	} else {
		c.writeV6(line)
	}
	for _, h := range c.Hosts {
		c.writeHost(line, h)
	}
	line("log-dhcp")
	return b.String(), nil
}

func (c Config) leaseTime() string {
	if c.LeaseTime == "" {
		return "infinite"
	}
	return c.LeaseTime
}

// writeV4 says the netmask in full: a bare number there would be taken for a lease time.
func (c Config) writeV4(line func(string, ...any)) {
	mask, _ := netip.AddrFromSlice(netipx.PrefixIPNet(c.Subnet).Mask)
	line("dhcp-range=%s,%s,%s,%s", c.Range.From(), c.Range.To(), mask, c.leaseTime())
	line("dhcp-option=option:router%s", formatAddress(c.Gateway))
	line("dhcp-option=option:dns-server%s", formatAddresses(c.DNS, "%s"))
	if c.Boot != nil {
		c.Boot.writeV4(line)
	}
}

// writeV4 sends iPXE its script, UEFI firmware the iPXE of its processor, and BIOS the rest.
func (b Boot) writeV4(line func(string, ...any)) {
	line("dhcp-match=set:ipxe,175")
	line("dhcp-match=set:efi,option:client-arch,7")
	line("dhcp-match=set:efi,option:client-arch,9")
	line("dhcp-match=set:efi_arm,option:client-arch,11")
	line("dhcp-boot=tag:ipxe,%s", b.scriptURL())
	line("dhcp-boot=tag:efi,tag:!ipxe,snponly.efi,,%s", b.Server)
	line("dhcp-boot=tag:efi_arm,tag:!ipxe,arm64-efi/snponly.efi,,%s", b.Server)
	line("dhcp-boot=tag:!efi,tag:!efi_arm,tag:!ipxe,undionly.kpxe,,%s", b.Server)
}

// writeV6 does the same with URLs; only UEFI boots over IPv6.
func (b Boot) writeV6(line func(string, ...any)) {
	line("dhcp-vendorclass=set:pxe6,enterprise:343,PXEClient")
	line("dhcp-userclass=set:ipxe6,iPXE")
	line("dhcp-option=tag:pxe6,tag:!ipxe6,option6:bootfile-url,tftp://[%s]/snponly.efi", b.Server)
	line("dhcp-option=tag:ipxe6,option6:bootfile-url,%s", b.scriptURL())
}

// scriptURL is the URL of what iPXE runs.
func (b Boot) scriptURL() string {
	return fmt.Sprintf("http://%s/boot.ipxe", netip.AddrPortFrom(b.Server, uint16(b.HTTPPort)))
}

// writeV6 announces the network, and no way out of it: routers are for that.
func (c Config) writeV6(line func(string, ...any)) {
	line("enable-ra")
	line("ra-param=%s,0,0", c.Interface)
	line("dhcp-range=%s,%s,%d,%s", c.Range.From(), c.Range.To(), c.Subnet.Bits(), c.leaseTime())
	if len(c.DNS) > 0 {
		line("dhcp-option=option6:dns-server%s", formatAddresses(c.DNS, "[%s]"))
	}
	if c.Boot != nil {
		c.Boot.writeV6(line)
	}
}

func (c Config) writeHost(line func(string, ...any), h Host) {
	address := h.Address.String()
	if h.Address.Is6() {
		address = "[" + address + "]"
	}
	parts := []string{strings.ToLower(h.MAC), address}
	if h.Name != "" {
		parts = append(parts, h.Name)
	}
	line("dhcp-host=%s", strings.Join(append(parts, "infinite"), ","))
}

func formatAddress(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return "," + a.String()
}

func formatAddresses(addresses []netip.Addr, form string) string {
	var b strings.Builder
	for _, a := range addresses {
		fmt.Fprintf(&b, ","+form, a)
	}
	return b.String()
}
