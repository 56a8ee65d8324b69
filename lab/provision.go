package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
	"github.com/lifecycle-agent/lifecycle-agent/lab/network"
)

// Provision writes a cluster to a node's disk; nil makes a bare node.
type Provision func(ctx context.Context, p cluster.Provisioning) error

// agentOf is what runs a node's static pods unless somebody asks for another: the real kubelet where it is affordable. It takes
// an emulated processor minutes to start (docs/decisions/0002-real-kubelet.md).
var agentOf = map[machine.Kind]cluster.Agent{machine.Nspawn: cluster.Kubelet, machine.QEMU: cluster.Nodelet}

// HomeSite is the delivered node's site: single-stack, on the LAN's home addresses.
func HomeSite() cluster.Site {
	home := network.Home()
	return cluster.Site{
		Hostname: "sno", ClusterName: "lab", BaseDomain: "example.com",
		Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.10/24")},
		Gateways:  []netip.Addr{home.Gateway.Addr()}, DNS: []netip.Addr{home.DNS.Addr()},
	}
}

// DualStackSite is HomeSite with an IPv6 address beside the IPv4 one, which stays the primary.
func DualStackSite() cluster.Site {
	site, home := HomeSite(), network.Home()
	site.Addresses = append(site.Addresses, netip.MustParsePrefix("2001:db8:1::10/64"))
	site.Gateways = append(site.Gateways, home.Gateway6.Addr())
	site.DNS = append(site.DNS, home.DNS6.Addr())
	return site
}

func (l *Lab) provision(ctx context.Context, tools Tools, write Provision) (err error) {
	sysroot := filepath.Join(l.Dir, "sysroot")
	if l.Kind == machine.QEMU {
		unmount, err := machine.MountDisk(ctx, filepath.Join(l.Dir, "disk.img"), sysroot)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, unmount()) }()
	}
	etc, err := filepath.Glob(filepath.Join(sysroot, "ostree/deploy/rhcos/deploy/*.0/etc"))
	if err != nil || len(etc) != 1 {
		return fmt.Errorf("provision: want one deployment of stateroot rhcos in %s, found %d", sysroot, len(etc))
	}
	binaries, err := filepath.Abs(tools.Binaries)
	if err != nil {
		return err
	}
	p := cluster.Provisioning{
		Etc: etc[0], Var: filepath.Join(sysroot, "ostree/deploy/rhcos/var"),
		BinDir: binaries, OutDir: l.Dir, Node: HomeSite(), CacheDir: filepath.Join(filepath.Dir(l.Dir), "cache", "cluster"),
		Agent: cmp.Or(tools.Agent, agentOf[l.Kind]),
	}
	if tools.Site != nil {
		p.Node = *tools.Site
	}
	if err := writeUplink(p.Etc, p.Node); err != nil {
		return fmt.Errorf("provision: write the uplink's profile: %w", err)
	}
	if err := os.WriteFile(filepath.Join(p.Etc, "hostname"), []byte(p.Node.Hostname+"\n"), 0o644); err != nil {
		return fmt.Errorf("provision: %w", err)
	}
	if err := writeNodeIPHint(p.Etc, p.Node); err != nil {
		return err
	}
	if write == nil {
		return nil
	}
	if err := write(ctx, p); err != nil {
		return fmt.Errorf("provision the cluster: %w", err)
	}
	return nil
}

// writeNodeIPHint says by which network the node is to know its primary address, where it is not the usual family's.
func writeNodeIPHint(etc string, site cluster.Site) error {
	if site.Primary().Is4() {
		return nil
	}
	hint := "KUBELET_NODEIP_HINT=" + site.MachineNetworks()[0].Addr().String() + "\n"
	if err := os.WriteFile(filepath.Join(etc, "default/nodeip-configuration"), []byte(hint), 0o644); err != nil {
		return fmt.Errorf("provision: write the hint for the node's address: %w", err)
	}
	return nil
}

// writeUplink writes the static NetworkManager key file of the node's network card.
func writeUplink(etc string, site cluster.Site) error {
	var text strings.Builder
	fmt.Fprintf(&text, "[connection]\nid=%[1]s\nuuid=6e1f7b0a-51e0-4d3c-8f0e-0a0000000001\ntype=ethernet\ninterface-name=%[1]s\n\n[ethernet]\n", network.Uplink)
	for _, family := range []struct {
		section string
		is      func(netip.Addr) bool
	}{{"ipv4", netip.Addr.Is4}, {"ipv6", netip.Addr.Is6}} {
		fmt.Fprintf(&text, "\n[%s]\n%s", family.section, ipSection(site, family.is))
	}
	path := filepath.Join(etc, "NetworkManager/system-connections", network.Uplink+".nmconnection")
	return os.WriteFile(path, []byte(text.String()), 0o600)
}

// ipSection is one family's part of a key file (NetworkManager's nm-settings-keyfile(5)).
func ipSection(site cluster.Site, is func(netip.Addr) bool) string {
	var lines []string
	for _, address := range site.Addresses {
		if is(address.Addr()) {
			lines = append(lines, fmt.Sprintf("address%d=%s", len(lines)+1, address))
		}
	}
	if len(lines) == 0 {
		return "method=disabled\n"
	}
	lines = append([]string{"method=manual"}, lines...)
	for _, gateway := range site.Gateways {
		if is(gateway) {
			lines = append(lines, "gateway="+gateway.String())
		}
	}
	var servers strings.Builder
	for _, server := range site.DNS {
		if is(server) {
			fmt.Fprintf(&servers, "%s;", server)
		}
	}
	if servers.Len() > 0 {
		lines = append(lines, "dns="+servers.String())
	}
	return strings.Join(lines, "\n") + "\n"
}
