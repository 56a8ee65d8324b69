package onsite

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// setLocalDNS has the node's own DNS server answer with the new address for the new names.
func (p *Reconfiguration) setLocalDNS(ctx context.Context) error {
	c, err := p.readConfig()
	if err != nil {
		return err
	}
	if err := p.Resolver.SetOverride("", p.dnsAnswers(c)[0]); err != nil {
		return err
	}
	name, base := p.clusterNameAndBase(c)
	if err := p.Resolver.SetCluster("", name, base); err != nil {
		return err
	}
	if err := p.setSiteNames(c, name+"."+base); err != nil {
		return err
	}
	if err := p.updateNodeIPHint(c); err != nil {
		return err
	}
	return bringup.RestartDNS(ctx, p.Units)
}

// dnsAnswers are the addresses by which the node's own DNS server answers, the first one also for the cluster's own names.
func (p *Reconfiguration) dnsAnswers(c siteconfig.SiteConfig) (out []netip.Addr) {
	if c.Dnsmasq != nil {
		for _, text := range c.Dnsmasq.Addresses {
			if a, err := netip.ParseAddr(text); err == nil {
				out = append(out, a)
			}
		}
	}
	if len(out) == 0 {
		return p.nodeAddresses(c)
	}
	return out
}

// unansweredBy refuses answers that would lead elsewhere: the node is the only one that serves the names, and asks its own DNS server
// at the first of these addresses.
func (p *Reconfiguration) unansweredBy(c siteconfig.SiteConfig) (out []siteconfig.Problem) {
	if c.Dnsmasq == nil {
		return nil
	}
	own := p.nodeAddresses(c)
	for i, text := range c.Dnsmasq.Addresses {
		if a, err := netip.ParseAddr(text); err == nil && !slices.Contains(own, a) {
			out = append(out, siteconfig.Problem{Key: fmt.Sprintf("dnsmasq.addresses[%d]", i), Value: text,
				Want: fmt.Sprintf("must be an address of the node, which has %v; "+
					"leave dnsmasq.addresses out to answer with all of them", own)})
		}
	}
	return out
}

const siteNamesHeader = "# Written by Lifecycle Agent from dnsmasq of the site configuration.\n"

// setSiteNames has it answer the names of the site's domain, where the site wants that.
func (p *Reconfiguration) setSiteNames(c siteconfig.SiteConfig, own string) error {
	domain := c.ClusterDomain()
	if c.Dnsmasq == nil || !c.Dnsmasq.Enabled {
		return p.Files.Remove(host.DnsmasqSite)
	}
	answers := p.dnsAnswers(c)
	text := siteNamesHeader + siteNames(own, answers[1:]) // the first one is that of the override
	if domain != "" && domain != own {
		text += siteNames(domain, answers)
	}
	if err := p.Files.Write(host.DnsmasqSite, []byte(text), 0o644); err != nil {
		return fmt.Errorf("have the node answer the names of its site: %w", err)
	}
	return nil
}

// siteNames are lines of dnsmasq(8) for the names of a cluster; apps stands for everything below it.
func siteNames(domain string, answers []netip.Addr) string {
	var b strings.Builder
	for _, a := range answers {
		for _, name := range []string{"api", "api-int", "apps"} {
			fmt.Fprintf(&b, "address=/%s.%s/%s\n", name, domain, a)
		}
	}
	return b.String()
}
