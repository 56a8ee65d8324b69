package ipam

import (
	"context"
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	capi "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

// Finalizers of the Cluster API's kinds, by the names that metal3 uses.
const (
	contractClaimFinalizer   = "ipam.metal3.io/ipaddressclaim"
	contractAddressFinalizer = "ipam.metal3.io/ipaddress"
)

// contract is the kind IPAddressClaim of the Cluster API's contract, in the version that the API server serves.
type contract struct{ version string }

func (contract) keyOf(n types.NamespacedName) key {
	return key{capi.GroupVersion.Group, "IPAddressClaim", n.Namespace, n.Name}
}

func (contract) newObject() client.Object { return &capi.IPAddressClaim{} }

func (k contract) getClaim(ctx context.Context, from client.Reader, name types.NamespacedName) (*claim, error) {
	o := &capi.IPAddressClaim{}
	if err := from.Get(ctx, name, o); err != nil {
		return nil, fmt.Errorf("read IPAddressClaim %s: %w", name, err)
	}
	return k.readClaim(o), nil
}

// readClaim reads an IPAddressClaim. Consumers of the contract expect the address object under the claim's own name.
func (k contract) readClaim(o *capi.IPAddressClaim) *claim {
	ref := o.Spec.PoolRef
	c := &claim{
		Object: o, key: k.keyOf(client.ObjectKeyFromObject(o)), pool: types.NamespacedName{Namespace: o.Namespace, Name: ref.Name},
		foreign: ref.APIGroup != metal3.GroupVersion.Group || ref.Kind != poolKind,
		cluster: o.Spec.ClusterName, ownFinalizers: []string{contractClaimFinalizer}, needsFinalizer: true,
		fixedAddressName: o.Name, addressName: o.Status.AddressRef.Name, conditions: o.Status.Conditions,
	}
	if c.cluster == "" {
		c.cluster = o.Labels[metal3.ClusterNameLabel]
	}
	return c
}

func (k contract) getAddress(ctx context.Context, from client.Reader, name types.NamespacedName) (held, error) {
	o := &capi.IPAddress{}
	if err := from.Get(ctx, name, o); err != nil {
		return held{}, fmt.Errorf("read IPAddress %s: %w", name, err)
	}
	return k.readAddress(o), nil
}

func (k contract) readAddress(o *capi.IPAddress) held {
	h := held{Object: o, address: o.Spec.Address,
		claim: k.keyOf(types.NamespacedName{Namespace: o.Namespace, Name: o.Spec.ClaimRef.Name}),
		pool:  types.NamespacedName{Namespace: o.Namespace, Name: o.Spec.PoolRef.Name}}
	if o.Spec.PoolRef.APIGroup != metal3.GroupVersion.Group || o.Spec.PoolRef.Kind != poolKind {
		h.pool = types.NamespacedName{}
	}
	return h
}

func (k contract) listAll(ctx context.Context, from client.Reader) (claims []*claim, addresses []held, err error) {
	c, a := &capi.IPAddressClaimList{}, &capi.IPAddressList{}
	for _, l := range []client.ObjectList{c, a} {
		if err := from.List(ctx, l, client.UnsafeDisableDeepCopy); err != nil {
			return nil, nil, fmt.Errorf("list %T: %w", l, err)
		}
	}
	for i := range c.Items {
		claims = append(claims, k.readClaim(&c.Items[i]))
	}
	for i := range a.Items {
		addresses = append(addresses, k.readAddress(&a.Items[i]))
	}
	return claims, addresses, nil
}

func (k contract) newAddress(c *claim, name string, pool *metal3.IPPool, lease ipam.Lease) client.Object {
	bits, yes := int32(lease.Bits), true
	o := &capi.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.GetNamespace(), Labels: c.GetLabels(),
			OwnerReferences: []metav1.OwnerReference{ownerPool(pool), {
				APIVersion: capi.GroupVersion.Group + "/" + k.version, Kind: "IPAddressClaim", Name: c.GetName(), UID: c.GetUID(),
				Controller: &yes, BlockOwnerDeletion: &yes}}},
		Spec: capi.IPAddressSpec{
			ClaimRef: capi.IPAddressClaimReference{Name: c.GetName()},
			PoolRef:  capi.IPPoolReference{APIGroup: metal3.GroupVersion.Group, Kind: poolKind, Name: pool.Name},
			Address:  lease.Address.String(), Prefix: &bits,
		},
	}
	if lease.Gateway.IsValid() {
		o.Spec.Gateway = lease.Gateway.String()
	}
	return o
}

func (contract) withOutcome(c *claim, of outcome, now metav1.Time) client.Object {
	o := c.Object.(*capi.IPAddressClaim).DeepCopy()
	o.Status.AddressRef = capi.IPAddressReference{Name: of.addressName}
	apimeta.SetStatusCondition(&o.Status.Conditions, of.readyCondition(o.Generation, now))
	return o
}
