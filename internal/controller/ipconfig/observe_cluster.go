package ipconfig

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube/runtimeclient"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/network"
)

// observeCluster reads the cluster's view of the node, and the node's network.
func (r *Reconciler) observeCluster(ctx context.Context, ipc *lcav1.IPConfig, o *observation) {
	r.observeExpiry(ipc, o)
	if err := errors.Join(r.observeAddresses(ctx, ipc, o), r.observeNetwork(ctx, ipc, o)); err != nil {
		o.unobserved = &status.Blocked{Reason: "NotObserved", Message: msgStabilizing + status.OneLine(err.Error())}
	}
}

// observeAddresses reads the node object and the install-config.
func (r *Reconciler) observeAddresses(ctx context.Context, ipc *lcav1.IPConfig, o *observation) error {
	o.current.IPv4, o.current.IPv6 = ipc.Status.IPv4.DeepCopy(), ipc.Status.IPv6.DeepCopy()
	ic, err := cluster.ReadInstallConfig(ctx, runtimeclient.NewReader(r.Reader))
	if err != nil {
		return fmt.Errorf("read the install-config: %w", err)
	}
	o.installConfig = ic
	node, err := cluster.SingleNode(ctx, runtimeclient.NewReader(r.Reader))
	if errors.As(err, &o.topology) {
		err = nil // validation refuses it; there is nothing to wait for
	}
	if node == nil {
		return err
	}
	o.current.IPv4, o.current.IPv6 = cluster.Addresses(node, ic)
	return nil
}

// observeNetwork reads what runs on the node: gateways, DNS, VLAN, uplink, filter.
func (r *Reconciler) observeNetwork(ctx context.Context, ipc *lcav1.IPConfig, o *observation) error {
	keep := func(err error) error {
		o.current.DNSServers, o.current.VLANID = ipc.Status.DNSServers, ipc.Status.VLANID
		o.current.FilterFamily = ipc.Status.DNSFilterOutFamily
		keepLink(o.current.IPv4, ipc.Status.IPv4)
		keepLink(o.current.IPv6, ipc.Status.IPv6)
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
	o.uplink = network.In(doc, o.current.Uplink)
	return nil
}

// keepLink keeps what the node's network said of a family.
func keepLink(now, before *lcav1.IPStatus) {
	if now != nil && before != nil {
		now.Gateway, now.PrefixLength = before.Gateway, before.PrefixLength
	}
}

// readFilter reads which records dnsmasq leaves out, from the file lca-cli manages.
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

// expiryMargin is how long before its certificates expire a stateroot no longer counts
// as one that comes up by itself.
const expiryMargin = 30 * time.Minute

// observeExpiry reads, once per operation, until when a rollback is safe. It is advice: the operation continues without.
func (r *Reconciler) observeExpiry(ipc *lcav1.IPConfig, o *observation) {
	if ipc.Status.RollbackAvailabilityExpiration != nil || !o.canRollBack() {
		return
	}
	earliest, err := kubeletExpiry(r.Node.Files, o.request.OldStateroot)
	if err != nil {
		r.Log.Debug("the expiry of the old stateroot's certificates is not known", "reason", err)
		return
	}
	o.rollbackUntil = earliest.Add(-expiryMargin)
}

// kubeletExpiry is the earliest expiry of the kubelet's client and serving certificates in a
// stateroot that does not run.
func kubeletExpiry(files host.Files, stateroot string) (time.Time, error) {
	var pems [][]byte
	for _, current := range []string{host.KubeletClientCert, host.KubeletServingCert} {
		file, err := currentCertificate(files, host.InVar(stateroot, current))
		if err != nil {
			return time.Time{}, err
		}
		data, err := files.Read(file)
		if err != nil {
			return time.Time{}, fmt.Errorf("read %s: %w", file, err)
		}
		pems = append(pems, data)
	}
	return cluster.EarliestExpiry(pems...)
}

// currentCertificate resolves a kubelet-*-current.pem. That is a link with an absolute target, which would lead into the
// running stateroot; but the kubelet names its certificates by date (kubelet-client-2026-01-31-12-00-00.pem), so the
// greatest name is the current one.
func currentCertificate(files host.Files, current string) (string, error) {
	if info, err := files.Stat(current); err == nil && info.Mode().IsRegular() {
		return current, nil
	}
	dir, base := path.Split(current)
	names, err := files.List(dir)
	if err != nil {
		return "", fmt.Errorf("list %s: %w", dir, err)
	}
	prefix := strings.TrimSuffix(base, "current.pem")
	for _, name := range slices.Backward(names) {
		if strings.HasPrefix(name, prefix) && name != base && strings.HasSuffix(name, ".pem") {
			return path.Join(dir, name), nil
		}
	}
	return "", fmt.Errorf("no certificate %s*.pem in %s", prefix, dir)
}
