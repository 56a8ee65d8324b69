package sites

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// Input is all that the sites are made of.
type Input struct {
	Rows []Row
	// Template holds what all sites have in common.
	Template siteconfig.SiteConfig
	// Open yields a pool by its name, with what is held of it already. It is asked once for each name.
	Open func(name string) (*ipam.Pool, error)
	// Held are addresses that sites were given before, by site and pool. They keep them.
	Held map[Holder]netip.Addr
}

// Holder is a site's place in a pool.
type Holder struct{ Site, Pool string }

// Site is one site, ready to be written.
type Site struct {
	Row    Row
	Config siteconfig.SiteConfig
	Leases []ipam.Lease
}

// Make makes all sites, or says everything that is wrong.
func Make(in Input) ([]Site, error) {
	m := &maker{in: in, pools: map[string]*ipam.Pool{}, seen: map[string]int{}}
	m.checkNames()
	m.openPools()
	if len(m.problems) > 0 {
		return nil, errors.Join(m.problems...)
	}
	leases := m.allocateLeases()
	out := make([]Site, len(in.Rows))
	for i, row := range in.Rows {
		out[i] = Site{Row: row, Leases: leases[i]}
		if leases[i] != nil {
			out[i].Config = m.buildConfig(row, leases[i])
		}
	}
	if len(m.problems) > 0 {
		return nil, errors.Join(m.problems...)
	}
	return out, nil
}

type maker struct {
	in       Input
	pools    map[string]*ipam.Pool
	seen     map[string]int
	problems []error
}

func (m *maker) addProblem(row Row, format string, args ...any) {
	m.problems = append(m.problems, fmt.Errorf("line %d, site %q: "+format, append([]any{row.Number, row.Site}, args...)...))
}

// siteName is a name that can be that of a file on every system.
var siteName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`)

// checkNames refuses two sites with one name. Letters of another case do not make another name: files and DNS agree on that.
func (m *maker) checkNames() {
	for _, row := range m.in.Rows {
		if !siteName.MatchString(row.Site) {
			m.addProblem(row, "the name of a site must be letters, digits, hyphens, dots and underscores")
		}
		m.checkUnique(row, "site", row.Site)
		m.checkUnique(row, "hostname", row.Hostname)
		cluster, domain := m.clusterNameOf(row)
		if row.Cluster != "" {
			m.checkUnique(row, "cluster", cluster+"."+domain)
		}
		if n := len(row.Pools); n == 0 || n > 2 || n == 2 && row.Pools[0] == row.Pools[1] {
			m.addProblem(row, "column pool must name one pool, or two with a space between")
		}
		if len(row.Addresses) > len(row.Pools) {
			m.addProblem(row, "there are more addresses than pools")
		}
	}
}

func (m *maker) checkUnique(row Row, what, value string) {
	key := what + " " + strings.ToLower(value)
	if before, ok := m.seen[key]; ok {
		m.addProblem(row, "%s %q is that of line %d, too", what, value, before)
		return
	}
	m.seen[key] = row.Number
}

func (m *maker) clusterNameOf(row Row) (name, domain string) {
	name, domain = row.Cluster, row.Domain
	if domain == "" {
		domain = m.in.Template.BaseDomain
	}
	return name, domain
}

// openPools opens each pool once and refuses two that could hand out the same address.
func (m *maker) openPools() {
	var names []string
	for _, row := range m.in.Rows {
		for _, name := range row.Pools {
			if _, known := m.pools[name]; known {
				continue
			}
			pool, err := m.in.Open(name)
			m.pools[name] = pool
			if err != nil {
				m.addProblem(row, "%w", err)
				continue
			}
			names = append(names, name)
		}
	}
	for i, a := range names {
		for _, b := range names[:i] {
			m.checkNoOverlap(m.pools[a].Spec(), m.pools[b].Spec())
		}
	}
}

func (m *maker) checkNoOverlap(a, b ipam.Spec) {
	if a.Network != b.Network || a.Name == b.Name {
		return
	}
	for _, x := range ipam.Bounds(a) {
		for _, y := range ipam.Bounds(b) {
			if x.Overlaps(y) {
				m.problems = append(m.problems, fmt.Errorf("pool %s overlaps pool %s: %s and %s are in network %s",
					a.Name, b.Name, x, y, a.Network))
			}
		}
	}
}

// allocateLeases claims the addresses: first those that are named or were held before, then the others, in order. A row
// without all its addresses has none.
func (m *maker) allocateLeases() [][]ipam.Lease {
	out := make([][]ipam.Lease, len(m.in.Rows))
	for i, row := range m.in.Rows {
		out[i] = make([]ipam.Lease, len(row.Pools))
	}
	for _, certain := range []bool{true, false} {
		for i, row := range m.in.Rows {
			for j, name := range row.Pools {
				if wish, err := m.requestedAddress(row, j); err != nil {
					if certain {
						m.addProblem(row, "%w", err)
					}
				} else if wish.IsValid() == certain {
					m.claimLease(&out[i][j], row, name, wish)
				}
			}
		}
	}
	for i := range out {
		if slices.ContainsFunc(out[i], func(l ipam.Lease) bool { return !l.Address.IsValid() }) {
			out[i] = nil
		}
	}
	return out
}

func (m *maker) requestedAddress(row Row, at int) (netip.Addr, error) {
	if at < len(row.Addresses) {
		a, err := netip.ParseAddr(row.Addresses[at])
		if err != nil {
			return netip.Addr{}, fmt.Errorf("address %q is not an IP address", row.Addresses[at])
		}
		return a, nil
	}
	return m.in.Held[Holder{row.Site, row.Pools[at]}], nil
}

func (m *maker) claimLease(into *ipam.Lease, row Row, pool string, wish netip.Addr) {
	l, err := m.pools[pool].Claim(ipam.Request{Claim: "site " + row.Site, Name: row.Site, Host: row.Hostname, Address: wish})
	switch {
	case err != nil:
		m.addProblem(row, "%w", err)
	case l.Bits == 0:
		m.addProblem(row, "pool %s has no prefix length", l.Pool)
	case !l.Gateway.IsValid():
		m.addProblem(row, "pool %s has no gateway", l.Pool)
	default:
		*into = l
	}
}

// buildConfig is the template with what the row and the leases say.
func (m *maker) buildConfig(row Row, leases []ipam.Lease) siteconfig.SiteConfig {
	c := m.in.Template
	c.Metadata.Name, c.Hostname = row.Site, strings.ToLower(row.Hostname)
	if name, domain := m.clusterNameOf(row); name != "" || domain != "" {
		c.ClusterName, c.BaseDomain = name, domain
	}
	if len(row.Labels) > 0 {
		c.NodeLabels = maps.Clone(c.NodeLabels)
		if c.NodeLabels == nil {
			c.NodeLabels = map[string]string{}
		}
		maps.Copy(c.NodeLabels, row.Labels)
	}
	network, err := networkDocument(row, leases)
	if err != nil {
		m.addProblem(row, "%w", err)
		return c
	}
	c.Network, c.NodeIPs, c.MachineNetworks = network, nil, nil
	for _, l := range leases {
		c.NodeIPs = append(c.NodeIPs, l.Address.String())
		c.MachineNetworks = append(c.MachineNetworks, l.Prefix().Masked().String())
		for _, d := range l.DNS {
			if len(m.in.Template.DNSServers) == 0 && !slices.Contains(c.DNSServers, d.String()) {
				c.DNSServers = append(c.DNSServers, d.String())
			}
		}
	}
	for _, p := range siteconfig.Validate(c) {
		m.addProblem(row, "%s", p)
	}
	return c
}

// networkDocument is one port, or a VLAN on it, with the addresses and default routes.
func networkDocument(row Row, leases []ipam.Lease) (*netstate.Document, error) {
	if row.Port == "" {
		return nil, errors.New("column port must name the network port of the node")
	}
	port := netstate.Interface{Name: row.Port, Type: netstate.TypeEthernet, State: netstate.StateUp}
	doc := &netstate.Document{Routes: &netstate.Routes{}}
	vlan := leases[0].VLAN
	if row.VLAN != "" {
		var err error
		if vlan, err = strconv.Atoi(row.VLAN); err != nil {
			return nil, fmt.Errorf("VLAN %q is not a number", row.VLAN)
		}
	}
	if vlan != 0 {
		doc.Interfaces = append(doc.Interfaces, port)
		port = netstate.Interface{Name: fmt.Sprintf("%s.%d", row.Port, vlan), Type: netstate.TypeVLAN, State: netstate.StateUp,
			VLAN: &netstate.VLAN{ID: vlan, BaseIface: row.Port}}
	}
	port.MTU = leases[0].MTU
	for _, l := range leases {
		ip := &netstate.IP{Enabled: new(true), DHCP: new(false), Addresses: []netstate.Address{netstate.FromPrefix(l.Prefix())}}
		family := netstate.FamilyOf(l.Address)
		if family == netstate.IPv4 {
			port.IPv4 = ip
		} else {
			ip.Autoconf = new(false)
			port.IPv6 = ip
		}
		doc.Routes.Config = append(doc.Routes.Config, netstate.Route{
			Destination: family.Default().String(), NextHopInterface: port.Name, NextHopAddress: l.Gateway.String()})
	}
	doc.Interfaces = append(doc.Interfaces, port)
	return doc, nil
}
