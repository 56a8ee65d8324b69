package certs

import (
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/replace"
)

// An authority may be limited to some names (RFC 5280 4.2.1.10), and so is every authority below it. A certificate that names another one
// is not accepted by those who verify it.

// checkConstraints returns why a certificate with its new names would not verify: a name that was within the constraints of an
// authority is not.
func (p *PKI) checkConstraints(leaf, issuer *Certificate, m replace.Mapping) error {
	if issuer == leaf {
		return nil
	}
	for _, ca := range p.limitsOf(issuer) {
		if name := firstOutside(ca, leaf.Certificate, m); name != "" {
			return fmt.Errorf("%s is outside the name constraints of %q", name, ca.Subject.CommonName)
		}
	}
	return nil
}

// limitsOf are the authorities with constraints, from one upwards as far as they are in the cluster.
func (p *PKI) limitsOf(issuer *Certificate) []*x509.Certificate {
	if limits, known := p.limits[issuer]; known {
		return limits
	}
	var limits []*x509.Certificate
	seen := map[*Certificate]bool{}
	for ca := issuer; ca != nil && !seen[ca]; ca = p.signerIn(ca) {
		seen[ca] = true
		if hasConstraints(ca.Certificate) {
			limits = append(limits, ca.Certificate)
		}
	}
	p.limits[issuer] = limits
	return limits
}

// hasConstraints reports whether there are some for the kinds of names that change.
func hasConstraints(ca *x509.Certificate) bool {
	return len(ca.PermittedIPRanges)+len(ca.ExcludedIPRanges)+len(ca.PermittedDNSDomains)+len(ca.ExcludedDNSDomains)+
		len(ca.PermittedURIDomains)+len(ca.ExcludedURIDomains) > 0
}

// firstOutside is the first new name that an authority may not sign for while it may for the old one; empty is none.
func firstOutside(ca, leaf *x509.Certificate, m replace.Mapping) string {
	inRange := func(text string, network *net.IPNet) bool { return network.Contains(net.ParseIP(text)) }
	for _, ip := range leaf.IPAddresses {
		to, _ := m.Host(ip.String())
		if leavesConstraints(ip.String(), to, ca.PermittedIPRanges, ca.ExcludedIPRanges, inRange) {
			return to
		}
	}
	for _, name := range leaf.DNSNames {
		to, _ := m.Name(name)
		if leavesConstraints(name, to, ca.PermittedDNSDomains, ca.ExcludedDNSDomains, inDomain) {
			return to
		}
	}
	for _, u := range leaf.URIs {
		to := m.URL(u.String())
		if leavesConstraints(u.String(), to, ca.PermittedURIDomains, ca.ExcludedURIDomains, hostInDomain) {
			return to
		}
	}
	return ""
}

// leavesConstraints reports whether the old name is within constraints, and the new one is not.
func leavesConstraints[C any](old, fresh string, permitted, excluded []C, in func(string, C) bool) bool {
	within := func(name string) bool {
		holds := func(c C) bool { return in(name, c) }
		return (len(permitted) == 0 || slices.ContainsFunc(permitted, holds)) && !slices.ContainsFunc(excluded, holds)
	}
	return old != fresh && within(old) && !within(fresh)
}

// inDomain reports whether a name is that of a domain or below it; a constraint that begins with a full stop means below it.
func inDomain(name, domain string) bool {
	name, domain = strings.ToLower(name), strings.ToLower(domain)
	if domain == "" || strings.HasPrefix(domain, ".") {
		return strings.HasSuffix(name, domain)
	}
	return name == domain || strings.HasSuffix(name, "."+domain)
}

func hostInDomain(text, domain string) bool {
	u, err := url.Parse(text)
	return err == nil && inDomain(u.Hostname(), domain)
}
