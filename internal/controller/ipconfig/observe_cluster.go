package ipconfig

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// seeCluster reads the node object and the install-config.
func (r *Reconciler) seeCluster(ctx context.Context, ipc *lcav1.IPConfig, o *observation) error {
	o.current.IPv4, o.current.IPv6 = ipc.Status.IPv4.DeepCopy(), ipc.Status.IPv6.DeepCopy()
	ic, err := cluster.ReadInstallConfig(ctx, r.Reader)
	if err != nil {
		return err
	}
	o.installConfig = ic
	node, err := cluster.SingleNode(ctx, r.Reader)
	if errors.As(err, &o.topology) {
		err = nil // a refusal for validation to make, not a reason to wait
	}
	if node == nil {
		return err
	}
	o.current.IPv4, o.current.IPv6 = cluster.Addresses(node, ic)
	return nil
}

// seeNetwork reads what runs on the node: gateways, DNS, VLAN, uplink, filter.
func (r *Reconciler) seeNetwork(ctx context.Context, ipc *lcav1.IPConfig, o *observation) error {
	keep := func(err error) error {
		o.current.DNSServers, o.current.VLANID = ipc.Status.DNSServers, ipc.Status.VLANID
		o.current.FilterFamily = ipc.Status.DNSFilterOutFamily
		keepGateway(o.current.IPv4, ipc.Status.IPv4)
		keepGateway(o.current.IPv6, ipc.Status.IPv6)
		return err
	}
	doc, err := r.Node.Network.Observe(ctx)
	if err != nil {
		return keep(fmt.Errorf("observe network: %w", err))
	}
	filter, err := readFilter(r.Node.Files)
	if err != nil {
		return keep(err)
	}
	o.current.FilterFamily = filter
	o.current.Describe(doc)
	o.uplink = uplinkOf(doc, o.current)
	return nil
}

func keepGateway(now, before *lcav1.IPStatus) {
	if now != nil && before != nil {
		now.Gateway = before.Gateway
	}
}

// readFilter tells which records dnsmasq leaves out, from the file lca-cli manages.
func readFilter(files host.Files) (lcav1.DNSFilterFamily, error) {
	data, err := files.Read(host.DnsmasqFilter)
	if errors.Is(err, fs.ErrNotExist) {
		return lcav1.DNSFilterNone, nil
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", host.DnsmasqFilter, err)
	}
	for line := range strings.Lines(string(data)) {
		switch strings.TrimSpace(line) {
		case "filter-AAAA":
			return lcav1.DNSFilterIPv6, nil
		case "filter-A":
			return lcav1.DNSFilterIPv4, nil
		}
	}
	return lcav1.DNSFilterNone, nil
}
