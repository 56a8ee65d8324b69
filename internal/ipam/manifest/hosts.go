package manifest

import (
	"fmt"
	"math/bits"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

// readHost reads a BareMetalHost, of which only the name matters here.
func (v *Inventory) readHost(raw []byte) error {
	o := &metav1.PartialObjectMetadata{}
	if err := decodeLoose(raw, o); err != nil {
		return err
	}
	return storeOnce(o, &v.Hosts)
}

// PlanForHosts is Plan with an address for each host of the files in addition: that which a machine on the host gets on the interface.
func (v *Inventory) PlanForHosts(o *metal3.IPPool, iface string, more int, with ipam.Options) (Plan, error) {
	p, err := v.Open(o, with)
	if err != nil {
		return Plan{}, err
	}
	out := v.planPool(p)
	for _, h := range v.Hosts {
		name := h.Namespace + "/" + h.Name + "/" + iface
		out.Hosts = append(out.Hosts, v.forHost(p, out.Pool, name))
	}
	out.Smallest = smallestSubnet(len(v.Hosts), p.Spec())
	return addNext(p, out, more), nil
}

// forHost is the address that a host has, or would get.
func (v *Inventory) forHost(p *ipam.Pool, pool, host string) Given {
	for _, c := range v.allClaims() {
		if c.pool == pool && c.GetAnnotations()[metal3.HostAnnotation] == host {
			if l, has := p.Of(c.id); has {
				return Given{Claim: c.id, Host: host, Address: l.Address.String()}
			}
		}
	}
	g := Given{Host: host}
	l, err := p.Claim(ipam.Request{Claim: "host " + host, Host: host})
	if err != nil {
		g.Refused = err.Error()
		return g
	}
	g.Address = l.Address.String()
	return g
}

// smallestSubnet is the smallest subnet with an address for each of so many hosts, beside network, broadcast and gateway address.
func smallestSubnet(hosts int, s ipam.Spec) string {
	const taken = 3
	size, width := bits.Len(uint(hosts+taken-1)), 32
	if b := ipam.Bounds(s); len(b) > 0 && b[0].From().Is6() {
		width = 128
	}
	return fmt.Sprintf("/%d", width-size)
}
