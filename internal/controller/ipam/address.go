package ipam

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

// errServed says that the claim has got another address meanwhile; its next reconciliation releases this one.
var errServed = errors.New("the claim has another address")

// publishedAddress is the address that the claim's status leads to; empty where it names none, or its object is missing.
func (r *Reconciler) publishedAddress(ctx context.Context, k kind, c *claim) string {
	if c.addressName == "" {
		return ""
	}
	h, err := k.getAddress(ctx, r.Client, types.NamespacedName{Namespace: c.key.namespace, Name: c.addressName})
	if err != nil || h.claim != c.key {
		return ""
	}
	return canonicalAddress(h.address)
}

func canonicalAddress(address string) string {
	a, err := ipam.ParseAddr(address)
	if err != nil {
		return address
	}
	return a.String()
}

// ensureAddress creates the address object of a lock, and returns its name.
func (r *Reconciler) ensureAddress(
	ctx context.Context, k kind, c *claim, p *supply, lease ipam.Lease, lock *lockv1.AddressLock,
) (string, error) {
	name := lock.Spec.AddressName
	made := k.newAddress(c, name, p.object, lease)
	err := r.Client.Create(ctx, made)
	if err == nil {
		return name, nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("create address %s of %s: %w", name, c.key, err)
	}
	existing, err := k.getAddress(ctx, r.Reader, types.NamespacedName{Namespace: c.key.namespace, Name: name})
	if err != nil {
		return "", err
	}
	mine := existing.belongsTo(c.key, c.GetUID())
	switch {
	case mine && canonicalAddress(existing.address) == lock.Spec.Address:
		return name, r.addOwners(ctx, existing, made.GetOwnerReferences())
	case mine:
		return "", errors.Join(errServed, r.releaseLock(ctx, k, lock))
	case existing.claim == c.key || existing.pool == p.poolName():
		// Of an earlier claim, or of one that lost the address, whose lock this claim has now.
		if err := r.deleteAddress(ctx, existing); err != nil {
			return "", err
		}
		return "", fmt.Errorf("create address %s of %s: one of %s had that name, and is deleted", name, c.key, existing.claim)
	}
	return r.renameAddress(ctx, k, c, p, lease, lock, existing)
}

// addOwners adds the claim and the pool to the owners of an object that was registered in advance and that something else owns: the
// garbage collector would delete it together with that. It deletes no object without owners, so that stays as it is.
func (r *Reconciler) addOwners(ctx context.Context, h held, owners []metav1.OwnerReference) error {
	have := h.GetOwnerReferences()
	if len(have) == 0 || h.ownerUID() != "" {
		return nil
	}
	before := h.DeepCopyObject().(client.Object)
	for _, o := range owners {
		if metav1.GetControllerOfNoCopy(h) != nil {
			o.Controller = nil // an object has one controller at most
		}
		have = append(have, o)
	}
	h.SetOwnerReferences(have)
	if err := r.Client.Patch(ctx, h.Object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("add the claim to the owners of address %s: %w", h.GetName(), err)
	}
	return nil
}

// renameAddress gives the address object of a lock another name, since a pool of another network uses that name.
func (r *Reconciler) renameAddress(
	ctx context.Context, k kind, c *claim, p *supply, lease ipam.Lease, lock *lockv1.AddressLock, existing held,
) (string, error) {
	renamed := lock.DeepCopy()
	renamed.Spec.AddressName = c.newAddressName(p.object, lease) + "-" + lock.Spec.Network
	if c.fixedAddressName != "" || renamed.Spec.AddressName == lock.Spec.AddressName {
		return "", fmt.Errorf("create address %s of %s: that of %s has the same name", existing.GetName(), c.key, existing.claim)
	}
	if err := r.Client.Update(ctx, renamed); err != nil {
		return "", fmt.Errorf("rename the address of lock %s: %w", lock.Name, err)
	}
	r.ledger.recordLock(renamed)
	return r.ensureAddress(ctx, k, c, p, lease, renamed)
}

// deleteAddress deletes an address object if it is still the one that was read.
func (r *Reconciler) deleteAddress(ctx context.Context, h held) error {
	if err := r.removeFinalizers(ctx, h.Object, metal3.AddressFinalizer, contractAddressFinalizer); err != nil {
		return fmt.Errorf("remove finalizer from address %s: %w", h.GetName(), err)
	}
	uid := h.GetUID()
	err := r.Client.Delete(ctx, h.Object, client.Preconditions{UID: &uid})
	if client.IgnoreNotFound(err) != nil { // a conflict too: what is there now is looked at anew
		return fmt.Errorf("delete address %s: %w", h.GetName(), err)
	}
	if left := h.GetFinalizers(); len(left) > 0 {
		return fmt.Errorf("delete address %s: finalizers of other controllers keep it: %q", h.GetName(), left)
	}
	return nil
}

// removeFinalizers takes finalizers off an object.
func (r *Reconciler) removeFinalizers(ctx context.Context, o client.Object, names ...string) error {
	left := slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool { return slices.Contains(names, f) })
	if len(left) == len(o.GetFinalizers()) {
		return nil
	}
	before := o.DeepCopyObject().(client.Object)
	o.SetFinalizers(left)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(r.Client.Patch(ctx, o, patch))
}

// deleteOrphans deletes the address objects that were made for a claim and that no lock of it names: a process that was suspended
// between lock and object, and lost its lease meanwhile, makes the object when the lock is gone. The garbage collector deletes only
// those whose claim is gone. Except is the object that the claim's status names; empty when the claim is gone.
func (r *Reconciler) deleteOrphans(ctx context.Context, k kind, of key, except string) error {
	locked := map[string]bool{except: true}
	for _, lock := range r.ledger.locksOf(of) {
		locked[lock.Spec.AddressName] = true
	}
	for _, name := range r.ledger.objectsOf(of) {
		if locked[name] {
			continue
		}
		if err := r.deleteOrphan(ctx, k, of, name, except == ""); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) deleteOrphan(ctx context.Context, k kind, of key, name string, gone bool) error {
	h, err := k.getAddress(ctx, r.Reader, types.NamespacedName{Namespace: of.namespace, Name: name})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || h.claim != of || h.isPreRegistered() {
		return err
	}
	if gone {
		c, err := k.getClaim(ctx, r.Reader, of.objectKey())
		if client.IgnoreNotFound(err) != nil || err == nil && c.GetUID() == h.ownerUID() && c.keepsAddress() {
			return client.IgnoreNotFound(err)
		}
	}
	r.Log.Info("address object without a lock deleted", "address", h.address, "object", name, "claim", of.String())
	return r.deleteAddress(ctx, h)
}
