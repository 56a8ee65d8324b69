package manifest

import (
	"fmt"

	"go4.org/netipx"

	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/dnsmasq"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/hostnet"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/kinds"
)

// Attachment is an interface of a host and the pools it has its addresses from.
type Attachment struct {
	hostnet.Link
	Pools []string
}

// Host is a host with the addresses its claims were given; every interface needs one of
// each of its pools.
func (v *Inventory) Host(name string, attached []Attachment, with ipam.Options) (hostnet.Host, error) {
	h := hostnet.Host{Name: name}
	for _, a := range attached {
		var leases []ipam.Lease
		for _, pool := range a.Pools {
			l, err := v.leaseOf(name, pool, with)
			if err != nil {
				return h, err
			}
			leases = append(leases, l)
		}
		i, err := hostnet.FromLeases(a.Link, leases...)
		if err != nil {
			return h, fmt.Errorf("host %s: %w", name, err)
		}
		h.Interfaces = append(h.Interfaces, i)
	}
	return h, h.Validate()
}

func (v *Inventory) leaseOf(host, pool string, with ipam.Options) (ipam.Lease, error) {
	o, err := v.Find(pool)
	if err != nil {
		return ipam.Lease{}, err
	}
	p, err := v.Open(o, with)
	if err != nil {
		return ipam.Lease{}, err
	}
	for _, c := range v.allClaims() {
		if c.pool != kinds.PoolName(o) || !c.isOf(host, o.Name) {
			continue
		}
		if l, ok := p.Of(c.id); ok {
			return l, nil
		}
	}
	return ipam.Lease{}, fmt.Errorf("pool %s: no address of it is allocated to host %s; see reserve", kinds.PoolName(o), host)
}

// Provisioning is the dnsmasq configuration of a pool's network, kept apart from every
// pool of that network.
func (v *Inventory) Provisioning(pool, iface string) (dnsmasq.Config, error) {
	o, err := v.Find(pool)
	if err != nil {
		return dnsmasq.Config{}, err
	}
	spec, err := kinds.Spec(o)
	if err != nil {
		return dnsmasq.Config{}, err
	}
	if !spec.DHCP.IsValid() {
		spec.DHCP = v.leasedRange()
	}
	var others []ipam.Spec
	for _, other := range v.Pools {
		if other == o {
			continue
		}
		s, err := kinds.Spec(other)
		if err != nil {
			return dnsmasq.Config{}, err
		}
		others = append(others, s)
	}
	return dnsmasq.Of(spec, iface, others...)
}

// leasedRange is what the cluster's own dnsmasq leases, if the files say so.
func (v *Inventory) leasedRange() (r netipx.IPRange) {
	for _, l := range v.Leased {
		if l.Range.From() != l.Range.To() {
			return l.Range
		}
	}
	return r
}
