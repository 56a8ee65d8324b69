package ipam

import (
	"context"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	capi "github.com/lifecycle-agent/lifecycle-agent/api/capi/v1beta2"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

// Finalizers of the Cluster API's kinds, by the names that metal3 uses.
const (
	contractClaimFinalizer   = "ipam.metal3.io/ipaddressclaim"
	contractAddressFinalizer = "ipam.metal3.io/ipaddress"
)

// contract is the Cluster API's IPAddressClaim.
type contract struct{}

func (contract) key(n types.NamespacedName) key {
	return key{capi.GroupVersion.Group, "IPAddressClaim", n.Namespace, n.Name}
}

func (k contract) get(ctx context.Context, from client.Reader, name types.NamespacedName) (*claim, error) {
	o := &capi.IPAddressClaim{}
	if err := from.Get(ctx, name, o); err != nil {
		return nil, err
	}
	return k.claim(o), nil
}

func (k contract) claim(o *capi.IPAddressClaim) *claim {
	ref := o.Spec.PoolRef
	c := &claim{
		Object: o, key: k.key(client.ObjectKeyFromObject(o)), pool: types.NamespacedName{Namespace: o.Namespace, Name: ref.Name},
		foreign: ref.APIGroup != metal3.GroupVersion.Group || ref.Kind != "IPPool",
		cluster: o.Spec.ClusterName, conditions: o.Status.Conditions,
	}
	if c.cluster == "" {
		c.cluster = o.Labels[metal3.ClusterNameLabel]
	}
	if o.Status.AddressRef != nil {
		c.address = o.Status.AddressRef.Name
	}
	return c
}

func (k contract) each(ctx context.Context, from client.Reader, see func(*claim), options ...client.ListOption) error {
	l := &capi.IPAddressClaimList{}
	if err := from.List(ctx, l, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		return err
	}
	for i := range l.Items {
		see(k.claim(&l.Items[i]))
	}
	return nil
}

func (contract) withoutAddress() client.MatchingFields {
	return client.MatchingFields{"status.addressRef.name": ""}
}

func (contract) finalizers() ([]string, bool) { return []string{contractClaimFinalizer}, true }

// addressName: the contract's consumers look for the claim's name too.
func (contract) addressName(c *claim, _ *metal3.IPPool, _ ipam.Lease) string { return c.GetName() }

func (contract) address(c *claim, name string, pool *metal3.IPPool, lease ipam.Lease) client.Object {
	bits := int32(lease.Bits)
	yes := true
	o := &capi.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.GetNamespace(), Labels: c.GetLabels(),
			OwnerReferences: []metav1.OwnerReference{ownerPool(pool), {
				APIVersion: capi.GroupVersion.String(), Kind: "IPAddressClaim", Name: c.GetName(), UID: c.GetUID(),
				Controller: &yes, BlockOwnerDeletion: &yes}}},
		Spec: capi.IPAddressSpec{
			ClaimRef: capi.NameReference{Name: c.GetName()},
			PoolRef:  capi.IPPoolReference{APIGroup: metal3.GroupVersion.Group, Kind: "IPPool", Name: pool.Name},
			Address:  lease.Address.String(), Prefix: &bits,
		},
	}
	if lease.Gateway.IsValid() {
		o.Spec.Gateway = lease.Gateway.String()
	}
	return o
}

func (k contract) read(ctx context.Context, from client.Reader, name types.NamespacedName) (held, error) {
	o := &capi.IPAddress{}
	if err := from.Get(ctx, name, o); err != nil {
		return held{}, err
	}
	return k.of(o), nil
}

func (k contract) of(o *capi.IPAddress) held {
	h := held{Object: o, address: o.Spec.Address,
		claim: k.key(types.NamespacedName{Namespace: o.Namespace, Name: o.Spec.ClaimRef.Name}),
		pool:  types.NamespacedName{Namespace: o.Namespace, Name: o.Spec.PoolRef.Name}}
	if o.Spec.PoolRef.APIGroup != metal3.GroupVersion.Group || o.Spec.PoolRef.Kind != "IPPool" {
		h.pool = types.NamespacedName{}
	}
	return h
}

func (contract) tell(c *claim, v verdict, now metav1.Time) client.Object {
	o := c.Object.(*capi.IPAddressClaim).DeepCopy()
	o.Status.AddressRef = nil
	if v.address != "" {
		o.Status.AddressRef = &capi.NameReference{Name: v.address}
	}
	apimeta.SetStatusCondition(&o.Status.Conditions, v.condition(o.Generation, now))
	return o
}
