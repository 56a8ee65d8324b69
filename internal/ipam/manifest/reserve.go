package manifest

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/kinds"
)

// Reservation is an address for a host, in advance.
type Reservation struct {
	Pool, Host string
	// Interface is where the host has the address, if that is known.
	Interface string
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
func (v *Inventory) Reserve(reservations []Reservation, with ipam.Options) ([]Registration, error) {
	var out []Registration
	draft := *v
	for _, w := range reservations {
		o, err := draft.Find(w.Pool)
		if err != nil {
			return nil, err
		}
		r, err := draft.registerAddress(o, w, with)
		if err != nil {
			return nil, fmt.Errorf("host %s: %w", w.Host, err)
		}
		out = append(out, r)
	}
	*v = draft
	return out, nil
}

func (v *Inventory) registerAddress(o *metal3.IPPool, w Reservation, with ipam.Options) (Registration, error) {
	p, err := v.Open(o, with)
	if err != nil {
		return Registration{}, err
	}
	identity, err := v.hostIdentity(o.Namespace, w)
	if err != nil {
		return Registration{}, err
	}
	c := v.claimOf(o, w)
	if c == nil {
		c = newClaim(o, w)
		v.Claims = append(v.Claims[:len(v.Claims):len(v.Claims)], c)
	}
	req := ipam.Request{Claim: claimID("IPClaim", c.Namespace, c.Name), Name: c.Name, Host: identity, Address: w.Address}
	l, err := p.Claim(req)
	if err != nil {
		return Registration{}, err
	}
	c = v.annotateClaim(v.annotateClaim(c, metal3.RequestedAddressAnnotation, l.Address.String()), metal3.HostAnnotation, identity)
	for _, a := range v.Addresses {
		if a.Namespace == c.Namespace && a.Spec.Claim.Name == c.Name {
			return Registration{c, a}, nil
		}
	}
	a := newAddress(o, c, l)
	v.Addresses = append(v.Addresses[:len(v.Addresses):len(v.Addresses)], a)
	return Registration{c, a}, nil
}

// annotateClaim gives a claim of the inventory an annotation. That of the address has the claim ask for the one that is planned for it:
// whatever the strategy of its pool, and whatever comes first, it gets this one or is told why not.
func (v *Inventory) annotateClaim(c *metal3.IPClaim, key, value string) *metal3.IPClaim {
	if c.Annotations[key] == value {
		return c
	}
	changed := c.DeepCopy()
	metav1.SetMetaDataAnnotation(&changed.ObjectMeta, key, value)
	v.Claims = slices.Clone(v.Claims)
	v.Claims[slices.Index(v.Claims, c)] = changed
	return changed
}

func (v *Inventory) claimOf(o *metal3.IPPool, w Reservation) *metal3.IPClaim {
	for _, c := range v.Claims {
		k := claim{Object: c}
		if c.Namespace == o.Namespace && c.Spec.Pool.Name == o.Name && k.isOf(w.Host, o.Name) && k.isOn(w.Interface) {
			return c
		}
	}
	return nil
}

// hostIdentity is what a reservation calls its host. Where the files have its BareMetalHost that is what its machine's claims will call it,
// namespace/name/interface, or namespace/name as long as the interface is not known; else the name that is given.
func (v *Inventory) hostIdentity(namespace string, w Reservation) (string, error) {
	var found []string
	for _, plain := range []bool{false, true} {
		for _, h := range v.Hosts {
			if h.Namespace == namespace && (h.Name == w.Host || plain && kinds.PlainHost(h.Name) == kinds.PlainHost(w.Host)) {
				found = append(found, h.Namespace+"/"+h.Name)
			}
		}
		if len(found) > 0 {
			break
		}
	}
	switch {
	case len(found) > 1:
		return "", fmt.Errorf("%s may be each of the hosts %s: give the name of one", w.Host, strings.Join(found, ", "))
	case len(found) == 0:
		return w.Host, nil // its machine says it when it adopts the claim
	case w.Interface == "":
		return found[0], nil
	}
	return found[0] + "/" + w.Interface, nil
}

func newClaim(o *metal3.IPPool, w Reservation) *metal3.IPClaim {
	c := &metal3.IPClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: metal3Group + "/v1alpha1", Kind: "IPClaim"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.Namespace, Name: claimName(w.Host, o.Name),
			Labels: map[string]string{metal3.PreRegisteredLabel: "true"},
		},
		Spec: metal3.IPClaimSpec{Pool: metal3.ObjectReference{Name: o.Name}},
	}
	if w.Interface != "" {
		c.Name = claimName(w.Host+"-"+kinds.InterfaceLabel(w.Interface), o.Name)
		c.Labels[metal3.InterfaceLabel] = kinds.InterfaceLabel(w.Interface)
	}
	return c
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
