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
		Name: r.pool, Network: Network(p), Prefix: p.Spec.Prefix, Strategy: strategy(p),
		Gateway: r.optional("gateway", p.Spec.Gateway), DNS: r.list("dnsServers", p.Spec.DNSServers),
		Reserved: map[string]netip.Addr{},
	}
	for i, in := range p.Spec.Pools {
		s.Ranges = append(s.Ranges, r.rangeOf(fmt.Sprintf("pools[%d]", i), in))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Spec.PreAllocations)) {
		s.Reserved[name] = r.address("preAllocations["+name+"]", string(p.Spec.PreAllocations[name]))
	}
	for i, text := range p.Spec.Exclusions {
		s.Exclude = append(s.Exclude, r.span(fmt.Sprintf("exclusions[%d]", i), string(text)))
	}
	if d := p.Spec.DHCPRange; d != nil {
		s.DHCP = r.span("dhcpRange", string(d.Start)+"-"+string(d.End))
	}
	if p.Spec.VLAN != nil {
		s.VLAN = int(*p.Spec.VLAN)
	}
	s.Quarantine = r.duration("quarantine", p.Spec.Quarantine)
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

func strategy(p *metal3.IPPool) ipam.Strategy {
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

func (r *reading) fail(field string, err error) {
	if err != nil {
		r.problems = append(r.problems, fmt.Errorf("pool %s: %s: %w", r.pool, field, err))
	}
}

func (r *reading) address(field, text string) netip.Addr {
	a, err := ipam.ParseAddr(text)
	r.fail(field, err)
	return a
}

func (r *reading) optional(field string, text *metal3.IPAddressStr) netip.Addr {
	if text == nil || *text == "" {
		return netip.Addr{}
	}
	return r.address(field, string(*text))
}

func (r *reading) list(field string, texts []metal3.IPAddressStr) (out []netip.Addr) {
	for i, text := range texts {
		out = append(out, r.address(fmt.Sprintf("%s[%d]", field, i), string(text)))
	}
	return out
}

func (r *reading) duration(field string, text metal3.Duration) time.Duration {
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(string(text))
	if err != nil {
		r.fail(field, fmt.Errorf("%q is not a duration such as 30m or 24h", text))
	}
	return d
}

func (r *reading) span(field, text string) netipx.IPRange {
	s, err := ipam.ParseSpan(text)
	r.fail(field, err)
	return s
}

func (r *reading) rangeOf(field string, in metal3.Pool) ipam.Range {
	out := ipam.Range{
		Start: r.optional(field+".start", in.Start), End: r.optional(field+".end", in.End), Prefix: in.Prefix,
		Gateway: r.optional(field+".gateway", in.Gateway), DNS: r.list(field+".dnsServers", in.DNSServers),
	}
	if in.Subnet != nil {
		var err error
		out.Subnet, err = ipam.ParseSubnet(string(*in.Subnet))
		r.fail(field+".subnet", err)
	}
	return out
}
