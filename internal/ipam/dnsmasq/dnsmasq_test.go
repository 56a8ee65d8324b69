package dnsmasq_test

import (
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go4.org/netipx"

	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/dnsmasq"
)

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

func span(from, to string) netipx.IPRange { return netipx.IPRangeFrom(addr(from), addr(to)) }

func v4() dnsmasq.Config {
	return dnsmasq.Config{
		Network: "provisioning", Interface: "eth1", Subnet: netip.MustParsePrefix("172.22.0.0/24"), Range: span("172.22.0.10", "172.22.0.100"),
		Static: []dnsmasq.Static{{What: "range 172.22.0.128-172.22.0.254 of pool prov", Range: span("172.22.0.128", "172.22.0.254")}},
		Hosts:  []dnsmasq.Host{{MAC: "52:54:00:AA:BB:CC", Address: addr("172.22.0.11"), Name: "found-0"}},
	}
}

func v6() dnsmasq.Config {
	return dnsmasq.Config{
		Network: "provisioning", Interface: "eth1", Subnet: netip.MustParsePrefix("fd00:1101::/64"), Range: span("fd00:1101::10", "fd00:1101::ffff"),
		DNS: []netip.Addr{addr("fd00:1101::53")}, Hosts: []dnsmasq.Host{{MAC: "52:54:00:aa:bb:cc", Address: addr("fd00:1101::11")}},
	}
}

func TestRender(t *testing.T) {
	out, err := v4().Render()
	require.NoError(t, err)
	require.Equal(t, `# Written from an address pool; changes made here are lost.
port=0
interface=eth1
bind-dynamic
except-interface=lo
dhcp-range=172.22.0.10,172.22.0.100,255.255.255.0,infinite
dhcp-option=option:router
dhcp-option=option:dns-server
dhcp-host=52:54:00:aa:bb:cc,172.22.0.11,found-0,infinite
log-dhcp
`, out)
	out, err = v6().Render()
	require.NoError(t, err)
	require.Contains(t, out, "enable-ra\nra-param=eth1,0,0\ndhcp-range=fd00:1101::10,fd00:1101::ffff,64,infinite\n")
	require.Contains(t, out, "dhcp-host=52:54:00:aa:bb:cc,[fd00:1101::11],infinite\n")
}

// Firmware of all kinds gets the iPXE that it can run, and iPXE its script, as metal3's own dnsmasq answers them.
func TestRenderBoot(t *testing.T) {
	c := v4()
	c.Boot = &dnsmasq.Boot{Server: addr("172.22.0.3"), HTTPPort: 6180, TFTPRoot: "/shared/tftpboot"}
	out, err := c.Render()
	require.NoError(t, err)
	require.Contains(t, out, `enable-tftp
tftp-root=/shared/tftpboot
`)
	require.Contains(t, out, `dhcp-match=set:ipxe,175
dhcp-match=set:efi,option:client-arch,7
dhcp-match=set:efi,option:client-arch,9
dhcp-match=set:efi_arm,option:client-arch,11
dhcp-boot=tag:ipxe,http://172.22.0.3:6180/boot.ipxe
dhcp-boot=tag:efi,tag:!ipxe,snponly.efi,,172.22.0.3
dhcp-boot=tag:efi_arm,tag:!ipxe,arm64-efi/snponly.efi,,172.22.0.3
dhcp-boot=tag:!efi,tag:!efi_arm,tag:!ipxe,undionly.kpxe,,172.22.0.3
`)
	c = v6()
	c.Boot = &dnsmasq.Boot{Server: addr("fd00:1101::3"), HTTPPort: 6180, TFTPRoot: "/shared/tftpboot"}
	out, err = c.Render()
	require.NoError(t, err)
	require.Contains(t, out, `dhcp-vendorclass=set:pxe6,enterprise:343,PXEClient
dhcp-userclass=set:ipxe6,iPXE
dhcp-option=tag:pxe6,tag:!ipxe6,option6:bootfile-url,tftp://[fd00:1101::3]/snponly.efi
dhcp-option=tag:ipxe6,option6:bootfile-url,http://[fd00:1101::3]:6180/boot.ipxe
`)
}

func TestDnsmasqAcceptsWhatIsRendered(t *testing.T) {
	program, err := exec.LookPath("dnsmasq")
	if err != nil {
		t.Skip("dnsmasq is not installed; its own check of the rendered file is left out")
	}
	full := v4()
	full.Gateway, full.DNS, full.LeaseTime = addr("172.22.0.1"), []netip.Addr{addr("172.22.0.2"), addr("172.22.0.3")}, "24h"
	boot, boot6 := v4(), v6()
	boot.Boot = &dnsmasq.Boot{Server: addr("172.22.0.3"), HTTPPort: 6180, TFTPRoot: "/shared/tftpboot"}
	boot6.Boot = &dnsmasq.Boot{Server: addr("fd00:1101::3"), HTTPPort: 6180, TFTPRoot: "/shared/tftpboot"}
	full.LeaseFile = filepath.Join(t.TempDir(), "leases")
	for name, c := range map[string]dnsmasq.Config{"v4": v4(), "v6": v6(), "all options": full, "boot": boot, "boot over IPv6": boot6} {
		t.Run(name, func(t *testing.T) {
			text, err := c.Render()
			require.NoError(t, err)
			file := filepath.Join(t.TempDir(), "dnsmasq.conf")
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			out, err := exec.CommandContext(t.Context(), program, "--test", "-C", file).CombinedOutput()
			require.NoError(t, err, "%s\n%s", out, text)
		})
	}
}

func TestRefusals(t *testing.T) {
	for name, k := range map[string]struct {
		change func(*dnsmasq.Config)
		want   string
	}{
		"reversed":  {func(c *dnsmasq.Config) { c.Range = span("172.22.0.100", "172.22.0.10") }, "network provisioning: DHCP range 172.22.0.100-172.22.0.10 is reversed: it ends before it starts"},
		"outside":   {func(c *dnsmasq.Config) { c.Range = span("172.22.0.10", "172.22.1.10") }, "network provisioning: DHCP range 172.22.0.10-172.22.1.10 leaves subnet 172.22.0.0/24"},
		"static":    {func(c *dnsmasq.Config) { c.Range = span("172.22.0.10", "172.22.0.130") }, "network provisioning: DHCP range 172.22.0.10-172.22.0.130 overlaps range 172.22.0.128-172.22.0.254 of pool prov at 172.22.0.128"},
		"gateway":   {func(c *dnsmasq.Config) { c.Gateway = addr("172.22.0.20") }, "network provisioning: DHCP range 172.22.0.10-172.22.0.100 overlaps the gateway at 172.22.0.20"},
		"network":   {func(c *dnsmasq.Config) { c.Range = span("172.22.0.0", "172.22.0.100") }, "network provisioning: DHCP range 172.22.0.0-172.22.0.100 overlaps the network address at 172.22.0.0"},
		"families":  {func(c *dnsmasq.Config) { c.Range = span("fd00::1", "fd00::2") }, "network provisioning: DHCP range fd00::1-fd00::2 and subnet 172.22.0.0/24 mix IPv4 and IPv6"},
		"too wide":  {func(c *dnsmasq.Config) { *c = v6(); c.Subnet = netip.MustParsePrefix("fd00:1101::/56") }, "network provisioning: subnet fd00:1101::/56 is wider than a /64, which is the widest dnsmasq leases from"},
		"interface": {func(c *dnsmasq.Config) { c.Interface = "eth1\nlog-queries" }, `network provisioning: "eth1\nlog-queries" is not the name of an interface`},
		"time":      {func(c *dnsmasq.Config) { c.LeaseTime = "1h\nport=53" }, `network provisioning: "1h\nport=53" is not a lease time`},
		"host":      {func(c *dnsmasq.Config) { c.Hosts[0].Address = addr("172.22.0.9") }, "network provisioning: address 172.22.0.9 of 52:54:00:AA:BB:CC lies outside the DHCP range 172.22.0.10-172.22.0.100"},
		"host name": {func(c *dnsmasq.Config) { c.Hosts[0].Name = "a\nport=53" }, `network provisioning: "a\nport=53" is not the name of a host`},
		"boot server of the range": {func(c *dnsmasq.Config) {
			c.Boot = &dnsmasq.Boot{Server: addr("172.22.0.20"), HTTPPort: 80, TFTPRoot: "/tftp"}
		}, "network provisioning: DHCP range 172.22.0.10-172.22.0.100 overlaps the boot server at 172.22.0.20"},
		"boot server of IPv6": {func(c *dnsmasq.Config) {
			c.Boot = &dnsmasq.Boot{Server: addr("fd00::3"), HTTPPort: 80, TFTPRoot: "/tftp"}
		}, "network provisioning: boot server fd00::3 is not of the family of subnet 172.22.0.0/24"},
		"boot files": {func(c *dnsmasq.Config) {
			c.Boot = &dnsmasq.Boot{Server: addr("172.22.0.3"), HTTPPort: 80, TFTPRoot: "/tftp\nport=53"}
		}, `network provisioning: "/tftp\nport=53" is not the directory of a TFTP server`},
		"boot port": {func(c *dnsmasq.Config) {
			c.Boot = &dnsmasq.Boot{Server: addr("172.22.0.3"), TFTPRoot: "/tftp"}
		}, "network provisioning: 0 is not the port of a boot server"},
		"one twice": {func(c *dnsmasq.Config) {
			c.Hosts = append(c.Hosts, dnsmasq.Host{MAC: "52:54:00:00:00:01", Address: addr("172.22.0.11")})
		}, "network provisioning: address 172.22.0.11 is given to both 52:54:00:AA:BB:CC and 52:54:00:00:00:01"},
	} {
		t.Run(name, func(t *testing.T) {
			c := v4()
			k.change(&c)
			_, err := c.Render()
			require.EqualError(t, err, k.want)
		})
	}
}

func TestOfAPool(t *testing.T) {
	pool := ipam.Spec{Name: "prov", Network: "provisioning", DHCP: span("172.22.0.10", "172.22.0.99"),
		Ranges: []ipam.Range{{Subnet: netip.MustParsePrefix("172.22.0.0/24"), Start: addr("172.22.0.100"), End: addr("172.22.0.120")}}}
	c, err := dnsmasq.Of(pool, "eth1")
	require.NoError(t, err)
	require.Equal(t, "172.22.0.0/24", c.Subnet.String())
	require.NoError(t, c.Validate())

	other := ipam.Spec{Name: "masters", Network: "provisioning", Ranges: []ipam.Range{{Start: addr("172.22.0.90"), End: addr("172.22.0.95")}}}
	c, err = dnsmasq.Of(pool, "eth1", other)
	require.NoError(t, err)
	require.EqualError(t, c.Validate(), "network provisioning: DHCP range 172.22.0.10-172.22.0.99 overlaps range 172.22.0.90-172.22.0.95 of pool masters at 172.22.0.90")
	other.Network = "storage"
	c, err = dnsmasq.Of(pool, "eth1", other)
	require.NoError(t, err)
	require.NoError(t, c.Validate())

	pool.DHCP = netipx.IPRange{}
	_, err = dnsmasq.Of(pool, "eth1")
	require.EqualError(t, err, "pool prov has no DHCP range")
}

func TestReadLeases(t *testing.T) {
	leases, err := dnsmasq.ReadLeases(strings.NewReader(`1767225600 52:54:00:aa:bb:cc 172.22.0.11 found-0 01:52:54:00:aa:bb:cc
0 52:54:00:aa:bb:cd 172.22.0.12 * *
duid 00:01:00:01:2c:6e:8f:2a:52:54:00:00:00:01
0 1234567 fd00:1101::11 * 00:01:00:01
`))
	require.NoError(t, err)
	require.Equal(t, []dnsmasq.Lease{
		{Expires: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Client: "52:54:00:aa:bb:cc", Address: addr("172.22.0.11"), Host: "found-0"},
		{Client: "52:54:00:aa:bb:cd", Address: addr("172.22.0.12")},
		{Client: "1234567", Address: addr("fd00:1101::11")},
	}, leases)
	require.False(t, leases[0].Alive(leases[0].Expires))
	require.True(t, leases[1].Alive(leases[0].Expires), "an infinite lease never ends")
	_, err = dnsmasq.ReadLeases(strings.NewReader("\n0 aa nowhere * *\n"))
	require.EqualError(t, err, `lease file: line 2: "nowhere" is not an address`)
}
