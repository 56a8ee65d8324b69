package ipam

import (
	"context"
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

// native is metal3's IPClaim.
type native struct{}

func (native) key(n types.NamespacedName) key {
	return key{metal3.GroupVersion.Group, "IPClaim", n.Namespace, n.Name}
}

func (k native) get(ctx context.Context, from client.Reader, name types.NamespacedName) (*claim, error) {
	o := &metal3.IPClaim{}
	if err := from.Get(ctx, name, o); err != nil {
		return nil, err
	}
	return k.claim(o), nil
}

func (k native) claim(o *metal3.IPClaim) *claim {
	ref := o.Spec.Pool
	c := &claim{
		Object: o, key: k.key(client.ObjectKeyFromObject(o)), pool: types.NamespacedName{Namespace: o.Namespace, Name: ref.Name},
		cluster: o.Labels[metal3.ClusterNameLabel], conditions: o.Status.Conditions,
	}
	if o.Status.Address != nil {
		c.address = o.Status.Address.Name
	}
	if g := groupOf(ref.APIVersion); g != "" && g != metal3.GroupVersion.Group || ref.Kind != "" && ref.Kind != "IPPool" {
		c.foreign = true
	}
	if ref.Namespace != "" && ref.Namespace != o.Namespace {
		c.wrong = fmt.Sprintf("pool %s/%s is in another namespace than the claim: a claim is served by a pool of its own namespace, %s",
			ref.Namespace, ref.Name, o.Namespace)
	}
	return c
}

func (k native) each(ctx context.Context, from client.Reader, see func(*claim), options ...client.ListOption) error {
	l := &metal3.IPClaimList{}
	if err := from.List(ctx, l, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		return err
	}
	for i := range l.Items {
		see(k.claim(&l.Items[i]))
	}
	return nil
}

func (native) withoutAddress() client.MatchingFields {
	return client.MatchingFields{"status.address.name": ""}
}

// finalizers: the lock outlives a claim that vanishes, so none is needed; metal3's own is taken off.
func (native) finalizers() ([]string, bool) { return []string{metal3.ClaimFinalizer}, false }

func (native) addressName(_ *claim, pool *metal3.IPPool, lease ipam.Lease) string {
	return pool.Spec.NamePrefix + "-" + dashed(lease.Address.String())
}

func (k native) address(c *claim, name string, pool *metal3.IPPool, lease ipam.Lease) client.Object {
	o := &metal3.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.GetNamespace(), Labels: c.GetLabels(),
			OwnerReferences: []metav1.OwnerReference{ownerPool(pool), {
				APIVersion: metal3.GroupVersion.String(), Kind: "IPClaim", Name: c.GetName(), UID: c.GetUID()}}},
		Spec: metal3.IPAddressSpec{
			Claim:  metal3.ObjectReference{Name: c.GetName(), Namespace: c.GetNamespace()},
			Pool:   metal3.ObjectReference{Name: pool.Name, Namespace: pool.Namespace},
			Prefix: lease.Bits, Address: metal3.IPAddressStr(lease.Address.String()),
		},
	}
	if lease.Gateway.IsValid() {
		g := metal3.IPAddressStr(lease.Gateway.String())
		o.Spec.Gateway = &g
	}
	for _, s := range lease.DNS {
		o.Spec.DNSServers = append(o.Spec.DNSServers, metal3.IPAddressStr(s.String()))
	}
	return o
}

func ownerPool(pool *metal3.IPPool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: metal3.GroupVersion.String(), Kind: "IPPool", Name: pool.Name, UID: pool.UID}
}

func (k native) read(ctx context.Context, from client.Reader, name types.NamespacedName) (held, error) {
	o := &metal3.IPAddress{}
	if err := from.Get(ctx, name, o); err != nil {
		return held{}, err
	}
	return k.of(o), nil
}

func (k native) of(o *metal3.IPAddress) held {
	return held{Object: o, address: string(o.Spec.Address),
		claim: k.key(types.NamespacedName{Namespace: o.Namespace, Name: o.Spec.Claim.Name}),
		pool:  types.NamespacedName{Namespace: o.Namespace, Name: o.Spec.Pool.Name}}
}

func (native) tell(c *claim, v verdict, now metav1.Time) client.Object {
	o := c.Object.(*metal3.IPClaim).DeepCopy()
	o.Status.Address, o.Status.ErrorMessage = nil, nil
	if v.address != "" {
		o.Status.Address = &metal3.ObjectReference{Name: v.address, Namespace: o.Namespace}
	} else {
		o.Status.ErrorMessage = &v.message
	}
	apimeta.SetStatusCondition(&o.Status.Conditions, v.condition(o.Generation, now))
	return o
}

// condition is the verdict as condition Ready.
func (v verdict) condition(generation int64, now metav1.Time) metav1.Condition {
	c := metav1.Condition{Type: metal3.ConditionReady, Status: metav1.ConditionFalse, Reason: v.reason, Message: v.message,
		ObservedGeneration: generation, LastTransitionTime: now}
	if v.address != "" {
		c.Status = metav1.ConditionTrue
	}
	return c
}
