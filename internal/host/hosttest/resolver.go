package hosttest

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/machine"
)

const dnsNameKey = "SNO_DNSMASQ_IP_OVERRIDE="

// Deafen has the node's own DNS server listen to nobody from now on, until it is started anew: it lost an address that
// moved to another interface.
func (n *Node) Deafen() {
	n.m.Lock()
	defer n.m.Unlock()
	n.deaf = true
}

// listensToItself says whether the node's own DNS server listens at the address.
func (n *Node) listensToItself(at netip.Addr) bool {
	own := slices.ContainsFunc(n.Addresses(), func(p netip.Prefix) bool { return p.Addr() == at })
	return own && !n.deaf && n.UnitState(host.UnitDnsmasq).Running()
}

// started gives a DNS server that is started anew the addresses of now, and a NetworkManager the profiles on the disk.
func (n *Node) started(unit string) {
	n.deaf = n.deaf && unit != host.UnitDnsmasq
	if unit == host.UnitNetwork {
		_ = n.NetworkUp() // it has no error where the disk can be read
	}
}

// forceDNS has the node's programs ask its own DNS server, as OpenShift's dispatcher script of that name does.
func (n *Node) forceDNS() error {
	data, err := n.m.ReadFile(host.DnsmasqOverrides)
	if err != nil {
		return nil // no such script without the baseline
	}
	_, rest, _ := strings.Cut(string(data), dnsNameKey)
	ip, _, _ := strings.Cut(rest, "\n")
	return n.m.WriteDurable(host.ResolvConf, machine.Text("nameserver "+ip+"\n"))
}

// Resolver is the node's host.Resolver.
func (n *Node) Resolver() host.Resolver { return resolver{n} }

type resolver struct{ n *Node }

// SetOverride puts the address in place of the old one, or at the end.
func (r resolver) SetOverride(root string, addr netip.Addr) error {
	file := path.Join("/", root, host.DnsmasqOverrides)
	data, err := r.n.Files().Read(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var lines []string
	for _, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		if line != "" && !strings.HasPrefix(line, dnsNameKey) {
			lines = append(lines, line)
		}
	}
	lines = append(lines, dnsNameKey+addr.String(), "")
	return r.n.Files().Write(file, []byte(strings.Join(lines, "\n")), 0o644)
}

// SetCluster keeps the names beside the address.
func (r resolver) SetCluster(root, name, base string) error {
	file := path.Join("/", root, host.DnsmasqOverrides)
	data, err := r.n.Files().Read(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var lines []string
	for _, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		if line != "" && !strings.HasPrefix(line, "SNO_CLUSTER_NAME") && !strings.HasPrefix(line, "SNO_BASE_DOMAIN") {
			lines = append(lines, line)
		}
	}
	lines = append(lines, "SNO_CLUSTER_NAME_OVERRIDE="+name, "SNO_BASE_DOMAIN_OVERRIDE="+base, "")
	return r.n.Files().Write(file, []byte(strings.Join(lines, "\n")), 0o644)
}

// filters maps families to dnsmasq's option that drops their records.
var filters = [...][2]string{{"ipv6", "filter-AAAA"}, {"ipv4", "filter-A"}}

func (r resolver) SetFilter(root, family string) error {
	file := path.Join("/", root, host.DnsmasqFilter)
	switch family {
	case "":
		return nil
	case "none":
		return r.n.Files().Remove(file)
	}
	for _, f := range filters {
		if f[0] == family {
			return r.n.Files().Write(file, []byte(f[1]+"\n"), 0o644)
		}
	}
	return fmt.Errorf("filter DNS answers: %q is neither ipv4, ipv6 nor none", family)
}

func (r resolver) Filter() (string, error) {
	data, err := r.n.Files().Read(host.DnsmasqFilter)
	if errors.Is(err, fs.ErrNotExist) {
		return "none", nil
	}
	if err != nil {
		return "", err
	}
	for _, f := range filters {
		if strings.Contains(string(data), f[1]) {
			return f[0], nil
		}
	}
	return "", fmt.Errorf("%s filters neither family", host.DnsmasqFilter)
}
