package manifest

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

// Wish is an address for a host, in advance.
type Wish struct {
	Pool, Host string
	// Address is a certain one; without it the pool chooses.
	Address netip.Addr
}

// Registration is a claim and the address it was given, ready to be applied to a cluster:
// the claim has no owner until its host's Machine adopts it.
type Registration struct {
	Claim   *metal3.IPClaim
	Address *metal3.IPAddress
}

// Reserve registers addresses for hosts: all, or none. A host that has one already gets
// the same again, so that running twice changes nothing. What is registered is part of
// the inventory from then on.
func (v *Inventory) Reserve(wishes []Wish, with ipam.Options) ([]Registration, error) {
	var out []Registration
	draft := *v
	for _, w := range wishes {
		o, err := draft.Find(w.Pool)
		if err != nil {
			return nil, err
		}
		r, err := draft.register(o, w, with)
		if err != nil {
			return nil, fmt.Errorf("host %s: %w", w.Host, err)
		}
		out = append(out, r)
	}
	*v = draft
	return out, nil
}

func (v *Inventory) register(o *metal3.IPPool, w Wish, with ipam.Options) (Registration, error) {
	p, err := v.Open(o, with)
	if err != nil {
		return Registration{}, err
	}
	c := v.claimOf(o, w.Host)
	if c == nil {
		c = newClaim(o, w)
		v.Claims = append(v.Claims[:len(v.Claims):len(v.Claims)], c)
	}
	req := ipam.Request{Claim: claimID("IPClaim", c.Namespace, c.Name), Name: c.Name, Host: w.Host, Address: w.Address}
	l, err := p.Claim(req)
	if err != nil {
		return Registration{}, err
	}
	c = v.pin(c, l.Address)
	for _, a := range v.Addresses {
		if a.Namespace == c.Namespace && a.Spec.Claim.Name == c.Name {
			return Registration{c, a}, nil
		}
	}
	a := newAddress(o, c, l)
	v.Addresses = append(v.Addresses[:len(v.Addresses):len(v.Addresses)], a)
	return Registration{c, a}, nil
}

// pin has a claim ask for the address that is planned for it: whatever the strategy of its pool, and whoever comes first, it gets
// this one or is told why not.
func (v *Inventory) pin(c *metal3.IPClaim, a netip.Addr) *metal3.IPClaim {
	if c.Annotations[metal3.RequestedAddressAnnotation] == a.String() {
		return c
	}
	pinned := c.DeepCopy()
	metav1.SetMetaDataAnnotation(&pinned.ObjectMeta, metal3.RequestedAddressAnnotation, a.String())
	v.Claims = slices.Clone(v.Claims)
	v.Claims[slices.Index(v.Claims, c)] = pinned
	return pinned
}

func (v *Inventory) claimOf(o *metal3.IPPool, host string) *metal3.IPClaim {
	for _, c := range v.Claims {
		k := claim{Object: c}
		if c.Namespace == o.Namespace && c.Spec.Pool.Name == o.Name && k.isOf(host, o.Name) {
			return c
		}
	}
	return nil
}

func newClaim(o *metal3.IPPool, w Wish) *metal3.IPClaim {
	return &metal3.IPClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: metal3Group + "/v1alpha1", Kind: "IPClaim"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.Namespace, Name: claimName(w.Host, o.Name),
			Labels:      map[string]string{metal3.PreRegisteredLabel: "true"},
			Annotations: map[string]string{metal3.HostAnnotation: w.Host},
		},
		Spec: metal3.IPClaimSpec{Pool: metal3.ObjectReference{Name: o.Name}},
	}
}

func newAddress(o *metal3.IPPool, c *metal3.IPClaim, l ipam.Lease) *metal3.IPAddress {
	a := &metal3.IPAddress{
		TypeMeta: metav1.TypeMeta{APIVersion: metal3Group + "/v1alpha1", Kind: "IPAddress"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.Namespace, Name: addressName(o.Spec.NamePrefix, l.Address),
			Labels: map[string]string{metal3.PreRegisteredLabel: "true"},
		},
		Spec: metal3.IPAddressSpec{
			Claim:  metal3.ObjectReference{Name: c.Name, Namespace: c.Namespace},
			Pool:   metal3.ObjectReference{Name: o.Name, Namespace: o.Namespace},
			Prefix: l.Bits, Address: metal3.IPAddressStr(l.Address.String()),
		},
	}
	if l.Gateway.IsValid() {
		g := metal3.IPAddressStr(l.Gateway.String())
		a.Spec.Gateway = &g
	}
	for _, d := range l.DNS {
		a.Spec.DNSServers = append(a.Spec.DNSServers, metal3.IPAddressStr(d.String()))
	}
	return a
}

// addressName is the name metal3 gives an address object.
func addressName(prefix string, a netip.Addr) string {
	text := strings.NewReplacer(".", "-", ":", "-").Replace(a.String())
	return strings.TrimRight(prefix+"-"+text, "-")
}
