package hostnet

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/kinds"
)

// ensureClaim ensures the claim of one interface on one pool; ok says that it has its address.
func (r *Reconciler) ensureClaim(
	ctx context.Context, o *unstructured.Unstructured, h *host, l link, poolName string,
) (ipam.Lease, bool, error) {
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
	if err := r.adoptClaim(ctx, o, h, c, l); err != nil {
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
	return r.findReservation(ctx, o, h, l, pool)
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
	markClaim(c, o)
	if h != nil {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, metal3.HostAnnotation, h.interfaceIdentity(l))
	}
	if err := r.Client.Create(ctx, c); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create claim %s/%s: %w", c.Namespace, c.Name, err)
	}
	return nil
}

// markClaim copies Cluster and consumer of the owner to a claim, for when the owner is gone.
func markClaim(c *metal3.IPClaim, o *unstructured.Unstructured) (changed bool) {
	if name := clusterOf(o); name != "" && c.Labels[metal3.ClusterNameLabel] != name {
		metav1.SetMetaDataLabel(&c.ObjectMeta, metal3.ClusterNameLabel, name)
		changed = true
	}
	if machine, ok := infrastructureOf(o); ok && c.Annotations[ConsumerAnnotation] != machine.String() {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, ConsumerAnnotation, machine.String())
		changed = true
	}
	return changed
}

// adoptClaim makes the owner the controller of a claim that was registered in advance, under the identity of the host; its address stays.
func (r *Reconciler) adoptClaim(ctx context.Context, o *unstructured.Unstructured, h *host, c *metal3.IPClaim, l link) error {
	before := c.DeepCopy()
	news := markClaim(c, o)
	news = setHostIdentity(c, h, l) || news
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

// errAddressUnseen: a claim names an address that the cache does not have yet. Addresses are not watched: no event tells when it has.
var errAddressUnseen = errors.New("the address of the claim is not in the cache yet")

// addressLag is how soon an owner is reconciled again then.
const addressLag = time.Second

// leaseOf is the address of a claim, with the settings of its pool.
func (r *Reconciler) leaseOf(ctx context.Context, c *metal3.IPClaim, pool *metal3.IPPool) (ipam.Lease, bool, error) {
	if c.Status.Address == nil {
		return ipam.Lease{}, false, nil
	}
	a := &metal3.IPAddress{}
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: c.Namespace, Name: c.Status.Address.Name}, a)
	if apierrors.IsNotFound(err) {
		return ipam.Lease{}, false, errAddressUnseen
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

// removeFinalizer removes the finalizer of a claim.
func (r *Reconciler) removeFinalizer(ctx context.Context, c *metal3.IPClaim) error {
	before := c.DeepCopy()
	if !controllerutil.RemoveFinalizer(c, Finalizer) {
		return nil
	}
	if err := r.Client.Patch(ctx, c, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove finalizer from claim %s/%s: %w", c.Namespace, c.Name, err)
	}
	return nil
}

// hostPoll is how soon an owner that is gone is reconciled again whose host still runs; an event of the host is what ends the wait.
const hostPoll = 10 * time.Minute

// cacheLag is how soon an owner is reconciled again whose host the cache does not have yet.
const cacheLag = 5 * time.Second

// releaseClaims releases the claims of an owner that is gone or being deleted, once no host serves it: a host that still runs may use its
// addresses.
func (r *Reconciler) releaseClaims(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName) (ctrl.Result, error) {
	claims := &metal3.IPClaimList{}
	err := r.Client.List(ctx, claims, client.InNamespace(name.Namespace), r.claimsOf(gvk, name.Name))
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("list the claims of %s %s: %w", gvk.Kind, name, err)
	}
	if len(claims.Items) == 0 {
		return ctrl.Result{}, nil
	}
	owner := consumer{kind: gvk.Kind, group: gvk.Group, namespace: name.Namespace, name: name.Name}
	unused, err := r.unusedClaims(ctx, owner, claims.Items)
	if err != nil {
		return ctrl.Result{}, err
	}
	if len(unused) == 0 {
		return ctrl.Result{RequeueAfter: hostPoll}, nil // hosts are watched
	}
	hosts, err := r.hostsNow(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	living, err := r.ownerNow(ctx, gvk, name)
	if err != nil {
		return ctrl.Result{}, err
	}
	for i := range unused {
		c := &unused[i]
		if inUse(hosts, rememberedConsumers(owner, c)) || living != "" && ownedBy(c, living) {
			return ctrl.Result{RequeueAfter: cacheLag}, nil // the cache is behind
		}
		if paused, err := r.isPaused(ctx, c); err != nil || paused {
			return ctrl.Result{RequeueAfter: pausedRetry}, err
		}
		if err := r.releaseClaim(ctx, c, gvk, name.Name); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, nil
}

// claimsOf selects the claims of an owner.
func (r *Reconciler) claimsOf(gvk schema.GroupVersionKind, owner string) client.ListOption {
	if r.objects == nil { // without a manager there are no indexes
		return client.MatchingLabels{OwnerLabel: ownerLabel(gvk, owner)}
	}
	return client.MatchingFields{byOwner: ownerLabel(gvk, owner)}
}

// unusedClaims are the claims of an owner that no host in the cache runs for.
func (r *Reconciler) unusedClaims(ctx context.Context, owner consumer, claims []metal3.IPClaim) (out []metal3.IPClaim, err error) {
	var own []unstructured.Unstructured
	if owner.kind == HostKind().Kind {
		if own, err = r.hostNamed(ctx, owner.namespace+"/"+owner.name); err != nil {
			return nil, err
		}
	}
	for i := range claims {
		consumers := rememberedConsumers(owner, &claims[i])
		hosts, err := r.hostsWith(ctx, consumers...)
		if err != nil {
			return nil, err
		}
		if !inUse(append(hosts, own...), consumers) {
			out = append(out, claims[i])
		}
	}
	return out, nil
}

// ownerNow is the UID of the owner that the API server has; empty where it has none, or one that is being deleted. A replica that has just
// become the leader may know claims whose owner its cache does not have yet.
func (r *Reconciler) ownerNow(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName) (types.UID, error) {
	o := newObject(gvk)
	err := r.Reader.Get(ctx, name, o)
	switch {
	case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("read %s %s before its claims are released: %w", gvk.Kind, name, err)
	case o.GetDeletionTimestamp() != nil:
		return "", nil
	}
	return o.GetUID(), nil
}

func ownedBy(c *metal3.IPClaim, owner types.UID) bool {
	return slices.ContainsFunc(c.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == owner })
}

// inUse says that a host still runs for one of them, or is one of them and still runs.
func inUse(hosts []unstructured.Unstructured, any []consumer) bool {
	for i := range hosts {
		if namesConsumer(&hosts[i], any...) || asConsumer(&hosts[i]) == any[0] && hostOf(&hosts[i]).isRunning() {
			return true
		}
	}
	return false
}

// releaseClaim deletes a claim of an owner and takes the finalizer off it.
func (r *Reconciler) releaseClaim(ctx context.Context, c *metal3.IPClaim, gvk schema.GroupVersionKind, owner string) error {
	ours := false
	for _, ref := range c.OwnerReferences {
		ours = ours || ref.Kind == gvk.Kind && ref.Name == owner
	}
	if !ours {
		return nil
	}
	if c.DeletionTimestamp == nil {
		uid := c.UID
		if err := r.Client.Delete(ctx, c, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete claim %s/%s: %w", c.Namespace, c.Name, err)
		}
	}
	if err := r.removeFinalizer(ctx, c); err != nil {
		return err
	}
	r.Log.Info("claim of an owner that is gone released", "kind", gvk.Kind, "owner", owner, "claim", c.Name)
	return nil
}
