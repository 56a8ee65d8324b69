package manifest

import (
	"net/netip"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/kinds"
)

// claim is a claim of either kind, as far as both agree.
type claim struct {
	metav1.Object
	id      string // "IPClaim ns/name"
	pool    string // "ns/name", "" of another provider's pool
	address string // id of the address record its status means
}

// record is an address record of either kind.
type record struct {
	id, claim, pool string
	text            string
}

func claimID(kind, namespace, name string) string { return kind + " " + namespace + "/" + name }

// The kinds of address have one name, so the contract's carries its group.
const (
	metal3Address = "IPAddress"
	capiAddress   = "IPAddress." + capiGroup
)

func (v *Inventory) allClaims() (out []claim) {
	for _, c := range v.Claims {
		k := claim{Object: c, id: claimID("IPClaim", c.Namespace, c.Name), pool: c.Namespace + "/" + c.Spec.Pool.Name}
		if a := c.Status.Address; a != nil {
			k.address = claimID(metal3Address, c.Namespace, a.Name)
		}
		out = append(out, k)
	}
	for _, c := range v.CAPIClaims {
		k := claim{Object: c, id: claimID("IPAddressClaim", c.Namespace, c.Name)}
		if c.Spec.PoolRef.APIGroup == metal3Group && c.Spec.PoolRef.Kind == "IPPool" {
			k.pool = c.Namespace + "/" + c.Spec.PoolRef.Name
		}
		if a := c.Status.AddressRef; a.Name != "" {
			k.address = claimID(capiAddress, c.Namespace, a.Name)
		}
		out = append(out, k)
	}
	return out
}

func (v *Inventory) allRecords() (out []record) {
	for _, a := range v.Addresses {
		out = append(out, record{claimID(metal3Address, a.Namespace, a.Name), claimID("IPClaim", a.Namespace, a.Spec.Claim.Name),
			a.Namespace + "/" + a.Spec.Pool.Name, string(a.Spec.Address)})
	}
	for _, a := range v.CAPIAddresses {
		if a.Spec.PoolRef.APIGroup != metal3Group || a.Spec.PoolRef.Kind != "IPPool" {
			continue // another provider's
		}
		out = append(out, record{claimID(capiAddress, a.Namespace, a.Name), claimID("IPAddressClaim", a.Namespace, a.Spec.ClaimRef.Name),
			a.Namespace + "/" + a.Spec.PoolRef.Name, a.Spec.Address})
	}
	return out
}

// buildRequest makes what a claim asks for.
func (c claim) buildRequest() (ipam.Request, error) {
	r := ipam.Request{Claim: c.id, Name: c.GetName(), Host: c.GetAnnotations()[metal3.HostAnnotation]}
	wish, asked := c.GetAnnotations()[metal3.RequestedAddressAnnotation]
	if !asked {
		return r, nil
	}
	var err error
	r.Address, err = ipam.ParseAddr(wish)
	return r, err
}

// isOf says whose the claim is: its annotation says so, or its name does. The annotation has the host's name, or its identity.
func (c claim) isOf(host, pool string) bool {
	named, ok := c.GetAnnotations()[metal3.HostAnnotation]
	if !ok {
		return c.GetName() == claimName(host, pool)
	}
	if parts := strings.SplitN(named, "/", 3); len(parts) > 1 && kinds.PlainHost(parts[1]) == kinds.PlainHost(host) {
		return true
	}
	return named == host
}

// isOn says that a claim may be for an interface: it names that one, or none. Any claim is for an interface that is not known.
func (c claim) isOn(iface string) bool {
	label, named := c.GetLabels()[metal3.InterfaceLabel]
	return !named || iface == "" || label == kinds.InterfaceLabel(iface)
}

// claimName is the name of the claim of a host on a pool.
func claimName(host, pool string) string { return host + "-" + pool }

func parseValid(text string) netip.Addr {
	a, err := ipam.ParseAddr(text)
	if err != nil {
		return netip.Addr{}
	}
	return a
}
