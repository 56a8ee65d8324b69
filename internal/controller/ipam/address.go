package ipam

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

// errLost says that another replica has given the claim another address; the next look lets go of this one.
var errLost = errors.New("the claim has got another address meanwhile")

// errHeldUp says that somebody's finalizer keeps an address object.
var errHeldUp = errors.New("the finalizer of somebody else keeps it")

// ensureAddress makes the address object of a lock, and returns its name.
func (r *Reconciler) ensureAddress(
	ctx context.Context, k kind, c *claim, p *pool, lease ipam.Lease, lock *lockv1.AddressLock,
) (string, error) {
	name := lock.Spec.AddressName
	err := r.Client.Create(ctx, k.address(c, name, p.object, lease))
	if err == nil {
		return name, nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("create address %s of %s: %w", name, c.key, err)
	}
	there, err := k.read(ctx, r.Reader, types.NamespacedName{Namespace: c.key.namespace, Name: name})
	if err != nil {
		return "", fmt.Errorf("read address %s of %s: %w", name, c.key, err)
	}
	return r.settleName(ctx, k, c, p, lease, lock, there)
}

// settleName decides what becomes of an object that has the name of the address object to be made.
func (r *Reconciler) settleName(
	ctx context.Context, k kind, c *claim, p *pool, lease ipam.Lease, lock *lockv1.AddressLock, there held,
) (string, error) {
	mine := there.claim == c.key && !ownedByAnother(there, c.GetUID())
	switch {
	case mine && canonical(there.address) == lock.Spec.Address:
		return there.GetName(), nil
	case mine:
		return "", errors.Join(errLost, r.release(ctx, k, lock))
	case there.claim == c.key || there.pool == client.ObjectKeyFromObject(p.object):
		// Of an earlier claim, or of one that lost the address, whose lock this claim has now.
		if err := r.deleteAddress(ctx, there); err != nil {
			return "", err
		}
		return "", fmt.Errorf("address %s of %s was in the way of %s, and is deleted", there.GetName(), there.claim, c.key)
	}
	// Another network's, of a pool with the same prefix of names.
	renamed := lock.DeepCopy()
	renamed.Spec.AddressName = k.addressName(c, p.object, lease) + "-" + lock.Spec.Network
	if renamed.Spec.AddressName == lock.Spec.AddressName {
		return "", fmt.Errorf("address %s of %s is in the way of %s", there.GetName(), there.claim, c.key)
	}
	if err := r.Client.Update(ctx, renamed); err != nil {
		return "", fmt.Errorf("rename the address of lock %s: %w", lock.Name, err)
	}
	r.ledger.observe(renamed)
	return r.ensureAddress(ctx, k, c, p, lease, renamed)
}

// ownedByAnother says that the object was made for a claim of the same name that is no more.
func ownedByAnother(h held, uid types.UID) bool {
	for _, o := range h.GetOwnerReferences() {
		if o.Kind == h.claim.kind && o.Name == h.claim.name {
			return o.UID != uid
		}
	}
	return false
}

// deleteAddress deletes an address object that still is what was read.
func (r *Reconciler) deleteAddress(ctx context.Context, h held) error {
	if err := r.unfinalize(ctx, h.Object, metal3.AddressFinalizer, contractAddressFinalizer); err != nil {
		return fmt.Errorf("let go of address %s: %w", h.GetName(), err)
	}
	uid := h.GetUID()
	err := r.Client.Delete(ctx, h.Object, client.Preconditions{UID: &uid})
	if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete address %s: %w", h.GetName(), err)
	}
	if len(h.GetFinalizers()) > 0 {
		return fmt.Errorf("delete address %s: %w", h.GetName(), errHeldUp)
	}
	return nil
}

// unfinalize takes finalizers off an object.
func (r *Reconciler) unfinalize(ctx context.Context, o client.Object, names ...string) error {
	left := slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool { return slices.Contains(names, f) })
	if len(left) == len(o.GetFinalizers()) {
		return nil
	}
	before := o.DeepCopyObject().(client.Object)
	o.SetFinalizers(left)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(r.Client.Patch(ctx, o, patch))
}
