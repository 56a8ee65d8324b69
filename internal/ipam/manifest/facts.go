package manifest

import (
	"errors"
	"fmt"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/audit"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/dnsmasq"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/kinds"
)

// Facts is the inventory as the consistency checker wants it. An address that cannot be
// read is an error; a pool that makes no sense is a finding.
func (v *Inventory) Facts(now time.Time) (audit.Facts, error) {
	f := audit.Facts{Now: now, Locked: len(v.Locks) > 0, Refused: v.refusedPools()}
	var problems []error
	for _, o := range v.Pools {
		spec, err := kinds.Spec(o)
		if err != nil && ipam.Validate(spec) == nil {
			problems = append(problems, err)
		}
		f.Pools = append(f.Pools, spec)
	}
	for _, l := range v.Leased {
		f.Leased = append(f.Leased, ipam.Spec{Name: l.What, Network: kinds.ProvisioningNetwork, DHCP: l.Range})
	}
	for _, c := range v.allClaims() {
		if c.pool != "" {
			f.Claims = append(f.Claims, audit.Claim{Name: c.id, Pool: c.pool, UID: string(c.GetUID()), Address: c.address})
		}
	}
	for _, r := range v.allRecords() {
		a, err := ipam.ParseAddr(r.text)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", r.id, err))
			continue
		}
		f.Addresses = append(f.Addresses, audit.Address{Name: r.id, Pool: r.pool, Claim: r.claim, Address: a})
	}
	for _, l := range v.Locks {
		k := audit.Lock{
			Name: "AddressLock " + l.Name, Network: l.Spec.Network, Pool: l.Spec.Pool.Namespace + "/" + l.Spec.Pool.Name,
			Address: parseValid(l.Spec.Address), State: audit.State(l.Spec.State),
		}
		if l.Spec.Claim != nil {
			k.Claim, k.ClaimUID = lockClaim(l), string(l.Spec.Claim.UID)
		}
		if l.Spec.Until != nil {
			k.Until = l.Spec.Until.Time
		}
		f.Locks = append(f.Locks, k)
	}
	return f, errors.Join(problems...)
}

// refusedPools are the pools whose network is another namespace's.
func (v *Inventory) refusedPools() map[string]error {
	out, tenancies := map[string]error{}, map[string]kinds.Tenancy{}
	for _, o := range v.Pools {
		network := kinds.Network(o)
		if _, known := tenancies[network]; !known {
			tenancies[network] = kinds.TenancyOf(network, v.Pools)
		}
		if why := tenancies[network].Refusal(o.Namespace); why != nil {
			out[kinds.PoolName(o)] = why
		}
	}
	return out
}

// Leases are dnsmasq's, of a network, for the facts; those that are over do not count.
func Leases(network string, leases []dnsmasq.Lease, now time.Time) (out []audit.Leased) {
	for _, l := range leases {
		if l.Alive(now) {
			out = append(out, audit.Leased{Network: network, Client: l.Client, Address: l.Address})
		}
	}
	return out
}
