package hostnet

import (
	"context"
	"fmt"
	"net/netip"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/kinds"
)

// claim ensures the claim of one interface on one pool; ok says that it has its address.
func (r *Reconciler) claim(ctx context.Context, o *unstructured.Unstructured, h *host, l link, poolName string) (ipam.Lease, bool, error) {
	pool := &metal3.IPPool{}
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: o.GetNamespace(), Name: poolName}, pool)
	if client.IgnoreNotFound(err) != nil {
		return ipam.Lease{}, false, fmt.Errorf("read pool %s/%s: %w", o.GetNamespace(), poolName, err)
	}
	c, err := r.findClaim(ctx, o, h, l, poolName)
	if err != nil {
		return ipam.Lease{}, false, err
	}
	if c == nil {
		if pool.Spec.Sticky && h == nil {
			return ipam.Lease{}, false, nil // its host decides which address; hosts are watched
		}
		return ipam.Lease{}, false, r.createClaim(ctx, o, h, l, poolName)
	}
	if err := r.adopt(ctx, o, h, c, l); err != nil {
		return ipam.Lease{}, false, err
	}
	return r.leaseOf(ctx, c, pool)
}

// findClaim finds the claim by its name or, if it was registered in advance, by the machine or host that it is for.
func (r *Reconciler) findClaim(ctx context.Context, o *unstructured.Unstructured, h *host, l link, pool string) (*metal3.IPClaim, error) {
	c := &metal3.IPClaim{}
	name := claimName(o.GetName(), l, pool)
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: o.GetNamespace(), Name: name}, c)
	if err == nil {
		return c, nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("read claim %s/%s: %w", o.GetNamespace(), name, err)
	}
	return r.reservation(ctx, o, h, l, pool)
}

func (r *Reconciler) createClaim(ctx context.Context, o *unstructured.Unstructured, h *host, l link, pool string) error {
	c := &metal3.IPClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: claimName(o.GetName(), l, pool),
			Labels: map[string]string{
				OwnerLabel: ownerLabel(o.GroupVersionKind(), o.GetName()), InterfaceLabel: kinds.InterfaceLabel(l.name),
			},
			Finalizers:      []string{Finalizer},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(o, o.GroupVersionKind())}},
		Spec: metal3.IPClaimSpec{Pool: metal3.ObjectReference{
			APIVersion: metal3.GroupVersion.String(), Kind: "IPPool", Name: pool, Namespace: o.GetNamespace()}},
	}
	mark(c, o)
	if h != nil {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, metal3.HostAnnotation, h.identity(l))
	}
	if err := r.Client.Create(ctx, c); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create claim %s/%s: %w", c.Namespace, c.Name, err)
	}
	return nil
}

// mark copies Cluster and consumer of the owner to a claim, for when the owner is gone.
func mark(c *metal3.IPClaim, o *unstructured.Unstructured) (changed bool) {
	if name := clusterOf(o); name != "" && c.Labels[metal3.ClusterNameLabel] != name {
		metav1.SetMetaDataLabel(&c.ObjectMeta, metal3.ClusterNameLabel, name)
		changed = true
	}
	if machine, ok := infrastructure(o); ok && c.Annotations[ConsumerAnnotation] != machine.String() {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, ConsumerAnnotation, machine.String())
		changed = true
	}
	return changed
}

// adopt makes the owner the controller of a claim that was registered in advance, under the identity of the host; its address stays.
func (r *Reconciler) adopt(ctx context.Context, o *unstructured.Unstructured, h *host, c *metal3.IPClaim, l link) error {
	before := c.DeepCopy()
	news := mark(c, o)
	news = identify(c, h, l) || news
	if metav1.IsControlledBy(c, o) && controllerutil.ContainsFinalizer(c, Finalizer) && c.Labels[OwnerLabel] != "" && !news {
		return nil
	}
	if other := metav1.GetControllerOf(c); other != nil && !metav1.IsControlledBy(c, o) {
		return fmt.Errorf("claim %s/%s belongs to %s %s, not to %s %s",
			c.Namespace, c.Name, other.Kind, other.Name, o.GetKind(), o.GetName())
	}
	if c.DeletionTimestamp != nil {
		return fmt.Errorf("claim %s/%s is being deleted", c.Namespace, c.Name)
	}
	adopted := !metav1.IsControlledBy(c, o)
	if adopted {
		c.OwnerReferences = append(c.OwnerReferences, *metav1.NewControllerRef(o, o.GroupVersionKind()))
	}
	controllerutil.AddFinalizer(c, Finalizer)
	metav1.SetMetaDataLabel(&c.ObjectMeta, OwnerLabel, ownerLabel(o.GroupVersionKind(), o.GetName()))
	metav1.SetMetaDataLabel(&c.ObjectMeta, InterfaceLabel, kinds.InterfaceLabel(l.name))
	if err := r.Client.Patch(ctx, c, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("adopt claim %s/%s for %s %s: %w", c.Namespace, c.Name, o.GetKind(), o.GetName(), err)
	}
	if adopted {
		r.Log.Info("claim registered in advance adopted", "claim", c.Name, "kind", o.GetKind(), "owner", o.GetName())
	}
	return nil
}

// leaseOf is the address of a claim, with the settings of its pool.
func (r *Reconciler) leaseOf(ctx context.Context, c *metal3.IPClaim, pool *metal3.IPPool) (ipam.Lease, bool, error) {
	if c.Status.Address == nil {
		return ipam.Lease{}, false, nil
	}
	a := &metal3.IPAddress{}
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: c.Namespace, Name: c.Status.Address.Name}, a)
	if apierrors.IsNotFound(err) {
		return ipam.Lease{}, false, nil
	}
	if err != nil {
		return ipam.Lease{}, false, fmt.Errorf("read address %s/%s: %w", c.Namespace, c.Status.Address.Name, err)
	}
	lease := ipam.Lease{Pool: kinds.PoolName(pool), Network: kinds.Network(pool), Claim: c.Name, Bits: a.Spec.Prefix}
	if pool.Spec.VLAN != nil {
		lease.VLAN = int(*pool.Spec.VLAN)
	}
	if lease.Address, err = ipam.ParseAddr(string(a.Spec.Address)); err != nil {
		return lease, false, fmt.Errorf("address %s/%s: %w", a.Namespace, a.Name, err)
	}
	if a.Spec.Gateway != nil {
		if lease.Gateway, err = ipam.ParseAddr(string(*a.Spec.Gateway)); err != nil {
			return lease, false, fmt.Errorf("address %s/%s: gateway: %w", a.Namespace, a.Name, err)
		}
	}
	for _, text := range a.Spec.DNSServers {
		server, err := netip.ParseAddr(string(text))
		if err != nil {
			return lease, false, fmt.Errorf("address %s/%s: DNS server: %w", a.Namespace, a.Name, err)
		}
		lease.DNS = append(lease.DNS, server)
	}
	return lease, true, nil
}

// removeFinalizer takes the finalizer off a claim.
func (r *Reconciler) removeFinalizer(ctx context.Context, c *metal3.IPClaim) error {
	before := c.DeepCopy()
	if !controllerutil.RemoveFinalizer(c, Finalizer) {
		return nil
	}
	if err := r.Client.Patch(ctx, c, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("take finalizer off claim %s/%s: %w", c.Namespace, c.Name, err)
	}
	return nil
}
