package siteconfig

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Validate says what is wrong with a configuration, without knowing the node or the time: nil, or every problem.
func Validate(c SiteConfig) []Problem {
	v := &validator{}
	v.checkNames(c)
	v.checkNetwork(c)
	v.checkAddresses(c)
	v.checkServices(c)
	v.checkRegistries(c)
	v.checkTrust(c)
	v.checkCertificates(c)
	v.checkAccess(c)
	v.checkHub(c)
	v.checkIdentity(c.Identity)
	return v.problems
}

type validator struct{ problems []Problem }

func (v *validator) addProblem(key, value, want string, args ...any) {
	v.problems = append(v.problems, Problem{Key: key, Value: quoteNonEmpty(shortenValue(value)), Want: fmt.Sprintf(want, args...)})
}

// addHidden is add for a value that must not be shown.
func (v *validator) addHidden(key, want string, args ...any) {
	v.problems = append(v.problems, Problem{Key: key, Value: hidden, Want: fmt.Sprintf(want, args...)})
}

// maxHostname is what the label kubernetes.io/hostname can hold, in characters.
const maxHostname = 63

func (v *validator) checkNames(c SiteConfig) {
	if c.ClusterName != "" && len(validation.IsDNS1123Label(c.ClusterName)) > 0 {
		v.addProblem("clusterName", c.ClusterName, "must be lower-case letters, digits and hyphens, at most 63, such as site-1")
	}
	for _, d := range []struct{ key, value string }{{"baseDomain", c.BaseDomain}, {"domain", c.Domain}} {
		if d.value != "" && !isDomain(d.value) {
			v.addProblem(d.key, d.value, "must be a domain name in lower case, such as edge.example.org")
		}
	}
	if d := c.ClusterDomain(); len("console-openshift-console.apps.")+len(d) > validation.DNS1123SubdomainMaxLength {
		v.addProblem("baseDomain", c.BaseDomain, "makes names longer than %d characters", validation.DNS1123SubdomainMaxLength)
	}
	switch h := c.Hostname; {
	case h == "":
	case len(h) > maxHostname || len(validation.IsDNS1123Subdomain(h)) > 0:
		v.addProblem("hostname", h, "must be lower-case letters, digits, hyphens and dots, at most %d, such as site-1", maxHostname)
	case h == "localhost" || strings.HasPrefix(h, "localhost."):
		v.addProblem("hostname", h, "must not be localhost; write the name by which the site knows the node")
	}
}

func isDomain(s string) bool {
	return len(validation.IsDNS1123Subdomain(s)) == 0 && strings.Contains(s, ".") && !isAddress(s)
}

func isAddress(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil
}

func isHost(s string) bool {
	return isAddress(s) || len(validation.IsDNS1123Subdomain(s)) == 0 && !looksNumeric(s)
}

// looksNumeric catches an address with a part that is missing or too large, which would pass as a name.
func looksNumeric(s string) bool { return strings.Trim(s, "0123456789.") == "" }

func (v *validator) checkServices(c SiteConfig) {
	v.checkProxy("proxy", c.Proxy)
	v.checkProxy("statusProxy", c.StatusProxy)
	if c.StatusProxy != nil && c.Proxy == nil {
		v.addProblem("statusProxy", "", "must be left out where proxy is not given: the cluster derives the one from the other")
	}
	if len(c.NTPServers) > 0 && c.ChronyConfig != "" {
		v.addProblem("ntpServers", strings.Join(c.NTPServers, ", "), "must be left out where chronyConfig is given, or the other way round")
	}
	for i, s := range c.NTPServers {
		if !isHost(s) {
			v.addProblem(itemKey("ntpServers", i), s, "must be the name or the address of a time server, such as ntp.example.org")
		}
	}
	if strings.ContainsRune(c.ChronyConfig, 0) {
		v.addProblem("chronyConfig", "", "must be the text of a chrony.conf")
	}
	if d := c.Dnsmasq; d != nil {
		if !d.Enabled && len(d.Addresses) > 0 {
			v.addProblem("dnsmasq.addresses", strings.Join(d.Addresses, ", "), "must be left out where dnsmasq.enabled is false")
		}
		v.onePerFamily("dnsmasq.addresses", d.Addresses)
	}
}

func (v *validator) checkProxy(key string, p *Proxy) {
	if p == nil {
		return
	}
	for _, u := range []struct {
		name  string
		value Secret
	}{{"httpProxy", p.HTTPProxy}, {"httpsProxy", p.HTTPSProxy}} {
		if u.value != "" && !isURL(u.value.Reveal(), "http", "https") {
			v.addHidden(joinKey(key, u.name), "must be the URL of a proxy, such as http://proxy.example.org:3128")
		}
	}
	if p.HTTPProxy == "" && p.HTTPSProxy == "" && p.NoProxy != "" {
		v.addProblem(joinKey(key, "noProxy"), p.NoProxy, "must be left out where neither httpProxy nor httpsProxy is given")
	}
	for entry := range strings.SplitSeq(p.NoProxy, ",") {
		entry = strings.TrimSpace(entry)
		_, err := netip.ParsePrefix(entry)
		name := strings.TrimPrefix(strings.TrimPrefix(entry, "*"), ".")
		if p.NoProxy != "" && entry != "*" && err != nil && !isHost(name) {
			v.addProblem(joinKey(key, "noProxy"), entry,
				"must be names, addresses and networks with commas between, such as .example.org,192.0.2.0/24")
		}
	}
}

func isURL(s string, schemes ...string) bool {
	u, err := url.Parse(s)
	return err == nil && slices.Contains(schemes, u.Scheme) && isHost(u.Hostname())
}

func itemKey(key string, i int) string { return fmt.Sprintf("%s[%d]", key, i) }
