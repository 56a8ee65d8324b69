package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

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
	if err := writeUplink(p.Etc, p.Node, tools.Bond); err != nil {
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
