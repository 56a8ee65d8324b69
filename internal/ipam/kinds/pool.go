package kinds

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"go4.org/netipx"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

// Spec is what a pool declares. The error says all that is wrong with it.
func Spec(p *metal3.IPPool) (ipam.Spec, error) {
	r := &reading{pool: PoolName(p)}
	s := ipam.Spec{
		Name: r.pool, Network: Network(p), Prefix: p.Spec.Prefix, Strategy: strategyOf(p),
		Gateway: r.parseOptional("gateway", p.Spec.Gateway), DNS: r.parseList("dnsServers", p.Spec.DNSServers),
		Reserved: map[string]netip.Addr{},
	}
	for i, in := range p.Spec.Pools {
		s.Ranges = append(s.Ranges, r.rangeOf(fmt.Sprintf("pools[%d]", i), in))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Spec.PreAllocations)) {
		s.Reserved[name] = r.parseAddress("preAllocations["+name+"]", string(p.Spec.PreAllocations[name]))
	}
	for i, text := range p.Spec.Exclusions {
		s.Exclude = append(s.Exclude, r.parseRange(fmt.Sprintf("exclusions[%d]", i), string(text)))
	}
	if d := p.Spec.DHCPRange; d != nil {
		s.DHCP = r.parseRange("dhcpRange", string(d.Start)+"-"+string(d.End))
	}
	if p.Spec.VLAN != nil {
		s.VLAN = int(*p.Spec.VLAN)
	}
	s.Quarantine = r.parseDuration("quarantine", p.Spec.Quarantine)
	if err := errors.Join(r.problems...); err != nil {
		return s, err
	}
	return s, ipam.Validate(s)
}

// PoolName is how sentences name a pool.
func PoolName(p *metal3.IPPool) string { return p.Namespace + "/" + p.Name }

// Network is the network of a pool.
func Network(p *metal3.IPPool) string {
	if p.Spec.Network == "" {
		return metal3.NamespaceNetwork(p.Namespace)
	}
	return p.Spec.Network
}

func strategyOf(p *metal3.IPPool) ipam.Strategy {
	switch {
	case p.Spec.Sticky:
		return ipam.Sticky
	case p.Spec.AllocationStrategy == metal3.RandomStrategy:
		return ipam.Random
	}
	return ipam.Sequential
}

// reading collects what cannot be read.
type reading struct {
	pool     string
	problems []error
}

func (r *reading) addError(field string, err error) {
	if err != nil {
		r.problems = append(r.problems, fmt.Errorf("pool %s: %s: %w", r.pool, field, err))
	}
}

func (r *reading) parseAddress(field, text string) netip.Addr {
	a, err := ipam.ParseAddr(text)
	r.addError(field, err)
	return a
}

func (r *reading) parseOptional(field string, text *metal3.IPAddressStr) netip.Addr {
	if text == nil || *text == "" {
		return netip.Addr{}
	}
	return r.parseAddress(field, string(*text))
}

func (r *reading) parseList(field string, texts []metal3.IPAddressStr) (out []netip.Addr) {
	for i, text := range texts {
		out = append(out, r.parseAddress(fmt.Sprintf("%s[%d]", field, i), string(text)))
	}
	return out
}

func (r *reading) parseDuration(field string, text metal3.Duration) time.Duration {
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(string(text))
	if err != nil {
		r.addError(field, fmt.Errorf("%q is not a duration such as 30m or 24h", text))
	}
	return d
}

func (r *reading) parseRange(field, text string) netipx.IPRange {
	s, err := ipam.ParseSpan(text)
	r.addError(field, err)
	return s
}

func (r *reading) rangeOf(field string, in metal3.Pool) ipam.Range {
	out := ipam.Range{
		Start: r.parseOptional(field+".start", in.Start), End: r.parseOptional(field+".end", in.End), Prefix: in.Prefix,
		Gateway: r.parseOptional(field+".gateway", in.Gateway), DNS: r.parseList(field+".dnsServers", in.DNSServers),
	}
	if in.Subnet != nil {
		var err error
		out.Subnet, err = ipam.ParseSubnet(string(*in.Subnet))
		r.addError(field+".subnet", err)
	}
	return out
}
