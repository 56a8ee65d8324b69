package intake

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/onsite"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/portal"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// expected is how long a reconfiguration takes at most where nothing is wrong.
const expected = 20 * time.Minute

// describePlan says what a configuration changes, in plain words.
func describePlan(record relocation.Record, c siteconfig.SiteConfig) portal.Plan {
	p := portal.Plan{Expected: expected}
	say := func(format string, args ...any) { p.Sentences = append(p.Sentences, fmt.Sprintf(format, args...)) }
	facts := record.Facts
	addresses := onsite.Addresses(record, c)
	if c.Network != nil || len(c.Connections) > 0 {
		say("Give the node the address %s and check that the site's router and name servers answer.", joinAddresses(addresses))
	} else {
		p.Warnings = append(p.Warnings, "No network is given. The node keeps the address of the factory.")
	}
	if c.Hostname != "" && c.Hostname != facts.Node {
		say("Rename the node from %s to %s.", facts.Node, c.Hostname)
	}
	if own := cmp.Or(c.ClusterName, facts.ClusterName) + "." + cmp.Or(c.BaseDomain, facts.BaseDomain); own != facts.Domain() {
		say("Rename the cluster from %s to %s.", facts.Domain(), own)
	}
	say("Make new certificates and start the cluster.")
	if d := c.ClusterDomain(); d != "" {
		say("Have the cluster answer at api.%s and *.apps.%s.", d, d)
	}
	if c.Hub != nil {
		say("Register the cluster with %s.", cmp.Or(c.Hub.URL, "its head office"))
	}
	say("Wait until the cluster is healthy. If it does not become healthy, the node goes back to its factory state.")
	if len(c.NTPServers) == 0 && c.ChronyConfig == "" {
		p.Warnings = append(p.Warnings, "No time server is given. The node keeps the ones of the factory.")
	}
	return p
}

func joinAddresses(addresses []netip.Addr) string {
	var out []string
	for _, a := range addresses {
		out = append(out, a.String())
	}
	return strings.Join(out, " and ")
}
