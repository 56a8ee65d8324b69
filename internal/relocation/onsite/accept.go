package onsite

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// acceptConfig refuses what cannot be carried out on this node, and writes what the later steps read.
func (p *Reconfiguration) acceptConfig(ctx context.Context) error {
	c, err := p.readConfig()
	if err != nil {
		return err
	}
	if problems := p.findMisfits(c); len(problems) > 0 {
		return problemsError(problems)
	}
	doc, err := p.desiredNetwork(ctx, c)
	if err != nil {
		return err
	}
	text, err := doc.Encode()
	if err != nil {
		return flow.Permanent(fmt.Errorf("write the network of the site configuration: %w", err))
	}
	if err := p.Files.Write(relocation.NMStateFile, text, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", relocation.NMStateFile, err)
	}
	hash, err := p.newPassword(c)
	if err != nil {
		return err
	}
	if err := p.ensureClusterID(c); err != nil {
		return err
	}
	for _, why := range retentionOf(c).attention {
		if err := p.journalNote(AttentionNote + why); err != nil {
			return err
		}
	}
	return operation.WriteJSON(p.Files, host.RecertConfig, p.recertConfig(c, hash))
}

// discardAccepted removes what accept wrote.
func (p *Reconfiguration) discardAccepted(context.Context) error {
	var errs []error
	for _, f := range []string{relocation.NMStateFile, host.RecertConfig, relocation.PasswordFile, relocation.ClusterIDFile} {
		errs = append(errs, p.Files.Remove(f))
	}
	return errors.Join(errs...)
}

// Misfits lists what a configuration asks for and the node of the record cannot do.
func Misfits(record relocation.Record, c siteconfig.SiteConfig) []siteconfig.Problem {
	return (&Reconfiguration{Record: record}).findMisfits(c)
}

// Addresses are those that the node of the record would have.
func Addresses(record relocation.Record, c siteconfig.SiteConfig) []netip.Addr {
	return (&Reconfiguration{Record: record}).nodeAddresses(c)
}

// findMisfits lists what the configuration asks for and this node cannot do.
func (p *Reconfiguration) findMisfits(c siteconfig.SiteConfig) (out []siteconfig.Problem) {
	out = p.unansweredBy(c)
	if p.Record.Decoupled() {
		return append(out, p.movesInternal(c)...)
	}
	have, want := p.Record.Facts.Addresses, p.nodeAddresses(c)
	if len(have) != len(want) {
		out = append(out, siteconfig.Problem{Key: "nodeIPs", Value: fmt.Sprint(want), Want: fmt.Sprintf(
			"the cluster was installed with %s; give one address of each of its families, and no other", familyNames(have))})
		return out
	}
	for i := range have {
		if have[i].Is4() != want[i].Is4() {
			out = append(out, siteconfig.Problem{Key: "nodeIPs", Value: fmt.Sprint(want), Want: fmt.Sprintf(
				"the cluster was installed with %s; give addresses of the same families in the same order", familyNames(have))})
			break
		}
	}
	return out
}

// movesInternal refuses what would move a node that its MachineConfig keeps at the internal address.
func (p *Reconfiguration) movesInternal(c siteconfig.SiteConfig) (out []siteconfig.Problem) {
	have := p.Record.Facts.Addresses
	for _, text := range c.NodeIPs {
		if a, err := netip.ParseAddr(text); err == nil && !slices.Contains(have, a) {
			out = append(out, siteconfig.Problem{Key: "nodeIPs", Value: text, Want: fmt.Sprintf(
				"a MachineConfig keeps the node at its internal address %s on every site; leave nodeIPs out", have[0])})
		}
	}
	within := func(n netip.Prefix) bool { return n.Contains(have[0]) }
	if named := machineNetworks(c); len(named) > 0 && !slices.ContainsFunc(named, within) {
		out = append(out, siteconfig.Problem{Key: "machineNetworks", Value: fmt.Sprint(named), Want: fmt.Sprintf(
			"a MachineConfig keeps the node at its internal address %s on every site; leave machineNetworks out", have[0])})
	}
	return out
}

func familyNames(addresses []netip.Addr) string {
	names := map[bool]string{true: "IPv4", false: "IPv6"}
	text := ""
	for i, a := range addresses {
		if i > 0 {
			text += " and "
		}
		text += names[a.Is4()]
	}
	return text
}

// nodeAddresses are the node's own after the change, the primary first: those that are named, those of the network document
// that lie in a machine network, all of the document, or the factory's.
func (p *Reconfiguration) nodeAddresses(c siteconfig.SiteConfig) (out []netip.Addr) {
	if p.Record.Decoupled() {
		return p.Record.Facts.Addresses
	}
	for _, text := range c.NodeIPs {
		if a, err := netip.ParseAddr(text); err == nil {
			out = append(out, a)
		}
	}
	if len(out) > 0 {
		return out
	}
	if c.Network == nil && len(c.Connections) == 0 {
		return p.Record.Facts.Addresses
	}
	static := configuredPrefixes(c)
	networks := machineNetworks(c)
	for _, have := range p.Record.Facts.Addresses { // one of each family, in the cluster's order
		for _, a := range static {
			in := slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(a.Addr()) })
			if a.Addr().Is4() == have.Is4() && (in || len(networks) == 0) {
				out = append(out, a.Addr())
				break
			}
		}
	}
	return out
}

func machineNetworks(c siteconfig.SiteConfig) (out []netip.Prefix) {
	for _, text := range c.MachineNetworks {
		if n, err := netip.ParsePrefix(text); err == nil {
			out = append(out, n.Masked())
		}
	}
	return out
}

// nodeNetworks are the machine networks of the node's addresses: those that are named, else those of the network document.
func (p *Reconfiguration) nodeNetworks(c siteconfig.SiteConfig) []netip.Prefix {
	if named := machineNetworks(c); len(named) > 0 {
		return named
	}
	var out []netip.Prefix
	for _, a := range p.nodeAddresses(c) {
		for _, s := range configuredPrefixes(c) {
			if s.Addr() == a {
				out = append(out, s.Masked())
			}
		}
	}
	return out
}

// configuredPrefixes are the addresses that the site's network document or its keyfiles give.
func configuredPrefixes(c siteconfig.SiteConfig) (out []netip.Prefix) {
	if c.Network != nil {
		return staticAddresses(*c.Network)
	}
	for _, connection := range c.ConnectionList() {
		for _, a := range connection.Addresses {
			if !a.Addr().IsLinkLocalUnicast() {
				out = append(out, a)
			}
		}
	}
	return out
}

func staticAddresses(doc netstate.Document) (out []netip.Prefix) {
	for _, i := range doc.Interfaces {
		for _, ip := range []*netstate.IP{i.IPv4, i.IPv6} {
			if ip == nil {
				continue
			}
			for _, a := range ip.Addresses {
				if at, err := netip.ParseAddr(a.IP); err == nil && !at.IsLinkLocalUnicast() {
					out = append(out, netip.PrefixFrom(at, a.PrefixLength))
				}
			}
		}
	}
	return out
}

func dnsServers(c siteconfig.SiteConfig) []string {
	if len(c.DNSServers) == 0 {
		for _, connection := range c.ConnectionList() {
			for _, server := range connection.DNS {
				c.DNSServers = append(c.DNSServers, server.String())
			}
		}
	}
	if len(c.DNSServers) > 0 || c.Network == nil || c.Network.DNS == nil || c.Network.DNS.Config == nil {
		return c.DNSServers
	}
	return c.Network.DNS.Config.Server
}

func isDefaultRoute(r netstate.Route) bool {
	return (r.Destination == "0.0.0.0/0" || r.Destination == "::/0") && r.State != netstate.StateAbsent
}

// desiredNetwork is the document that is applied: the site's, with its DNS servers, and without the factory's default routes,
// which a document does not remove by not naming them.
func (p *Reconfiguration) desiredNetwork(ctx context.Context, c siteconfig.SiteConfig) (netstate.Document, error) {
	if c.Network == nil {
		return netstate.Document{}, nil
	}
	doc := *c.Network
	if servers := dnsServers(c); len(servers) > 0 {
		doc.DNS = &netstate.DNS{Config: &netstate.Resolver{Server: servers}}
	}
	now, err := p.Network.Observe(ctx)
	if err != nil {
		return doc, fmt.Errorf("observe the node's network: %w", err)
	}
	routes := netstate.Routes{}
	if doc.Routes != nil {
		routes.Config = slices.Clone(doc.Routes.Config)
	}
	routes.Config = append(formerDefaults(now, routes.Config), routes.Config...)
	doc.Routes = &routes
	return doc, nil
}

// formerDefaults are the node's present default routes that the site does not name, to be removed.
func formerDefaults(now netstate.Document, named []netstate.Route) (out []netstate.Route) {
	if now.Routes == nil {
		return nil
	}
	for _, r := range append(slices.Clone(now.Routes.Config), now.Routes.Running...) {
		same := func(o netstate.Route) bool {
			return o.Destination == r.Destination && o.NextHopAddress == r.NextHopAddress && o.NextHopInterface == r.NextHopInterface
		}
		if !isDefaultRoute(r) || slices.ContainsFunc(named, same) || slices.ContainsFunc(out, same) {
			continue
		}
		out = append(out, netstate.Route{Destination: r.Destination, NextHopInterface: r.NextHopInterface,
			NextHopAddress: r.NextHopAddress, State: netstate.StateAbsent})
	}
	return out
}
