package manifest

import (
	"fmt"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

// Plan is what a pool has, and what would come next.
type Plan struct {
	Pool        string   `json:"pool"`
	Network     string   `json:"network"`
	Strategy    string   `json:"strategy"`
	Ranges      []string `json:"ranges"`
	DHCP        string   `json:"dhcp,omitempty"`
	Total       string   `json:"total"`
	Free        string   `json:"free"`
	Used        int      `json:"used"`
	Reserved    int      `json:"reserved,omitempty"`
	Quarantined int      `json:"quarantined,omitempty"`
	Excluded    string   `json:"excluded"`
	Outside     int      `json:"outside,omitempty"`
	// Waiting are the claims of the files without an address, and what they would get.
	Waiting []Given `json:"waiting,omitempty"`
	// Hosts are those of the files, and what each would get.
	Hosts []Given `json:"hosts,omitempty"`
	// Smallest is the smallest subnet that has room for the hosts.
	Smallest string `json:"smallest,omitempty"`
	// Next are the addresses that so many more claims would get.
	Next []string `json:"next,omitempty"`
	// Refused says why not all of them can be served.
	Refused string `json:"refused,omitempty"`
}

// Given is a claim with its address.
type Given struct {
	Claim   string `json:"claim"`
	Host    string `json:"host,omitempty"`
	Address string `json:"address,omitempty"`
	Refused string `json:"refused,omitempty"`
}

// Plan answers for a pool: what the waiting claims would get, one after the other, and
// what so many more would get after them. Nothing is kept.
func (v *Inventory) Plan(o *metal3.IPPool, more int, with ipam.Options) (Plan, error) {
	p, err := v.Open(o, with)
	if err != nil {
		return Plan{}, err
	}
	return addNext(p, v.planPool(p), more), nil
}

// planPool lists what a pool has, and what the waiting claims would get.
func (v *Inventory) planPool(p *ipam.Pool) Plan {
	out := v.describePool(p)
	for _, c := range v.allClaims() {
		if _, has := p.Of(c.id); has || c.pool != out.Pool {
			continue
		}
		out.Waiting = append(out.Waiting, allocateFor(p, c))
	}
	return out
}

// addNext adds what so many more claims would get.
func addNext(p *ipam.Pool, out Plan, more int) Plan {
	for i := range more {
		l, err := p.Claim(ipam.Request{Claim: fmt.Sprint("another ", i)})
		if err != nil {
			out.Refused = fmt.Sprintf("%d more claims do not fit, only %d do: %v", more, i, err)
			break
		}
		out.Next = append(out.Next, l.Address.String())
	}
	return out
}

func allocateFor(p *ipam.Pool, c claim) Given {
	g := Given{Claim: c.id}
	r, err := c.buildRequest()
	if err == nil {
		g.Host = r.Host
		var l ipam.Lease
		if l, err = p.Claim(r); err == nil {
			g.Address = l.Address.String()
			return g
		}
	}
	g.Refused = err.Error()
	return g
}

func (v *Inventory) describePool(p *ipam.Pool) Plan {
	spec, s := p.Spec(), p.Stats()
	out := Plan{
		Pool: spec.Name, Network: spec.Network, Strategy: string(spec.Strategy), Total: s.Total.String(), Free: s.Free.String(),
		Used: s.Used, Reserved: s.Reserved, Quarantined: s.Quarantined + s.Idle, Excluded: s.Excluded.String(), Outside: s.Outside,
	}
	for _, b := range ipam.Bounds(spec) {
		out.Ranges = append(out.Ranges, b.String())
	}
	if spec.DHCP.IsValid() {
		out.DHCP = spec.DHCP.String()
	}
	return out
}
