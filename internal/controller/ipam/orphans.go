package ipam

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
)

// A replica that was held up between lock and address object may make the object when the lock is long gone. Such an object is
// owned by its claim, which tells it from one that an installer registered, and no lock of the claim names it. A cluster's garbage
// collector takes only those whose claim is gone, and takes its time.

// bury deletes the orphans among a claim's address objects; but is the object that the claim was told of, empty when the claim is gone.
func (r *Reconciler) bury(ctx context.Context, k kind, of key, but string) error {
	locked := map[string]bool{but: true}
	for _, lock := range r.ledger.ofClaim(of) {
		locked[lock.Spec.AddressName] = true
	}
	for _, name := range r.ledger.objectsOf(of) {
		if locked[name] {
			continue
		}
		if err := r.buryOne(ctx, k, of, name, but == ""); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) buryOne(ctx context.Context, k kind, of key, name string, gone bool) error {
	h, err := k.read(ctx, r.Reader, types.NamespacedName{Namespace: of.namespace, Name: name})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read address %s: %w", name, err)
	}
	owner := ownerOf(h)
	if h.claim != of || owner == "" {
		return nil
	}
	if gone {
		if lives, err := r.lives(ctx, k, of, owner); err != nil || lives {
			return err
		}
	}
	r.Log.Info("address object without a lock deleted", "address", h.address, "object", name, "claim", of.String())
	return r.deleteAddress(ctx, h)
}

// lives asks the API, not the cache, whether a claim is there and may keep what it has.
func (r *Reconciler) lives(ctx context.Context, k kind, of key, uid types.UID) (bool, error) {
	c, err := k.get(ctx, r.Reader, of.object())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", of, err)
	}
	own, _ := k.finalizers()
	return c.GetUID() == uid && (c.GetDeletionTimestamp() == nil || len(foreignFinalizers(c, own)) > 0), nil
}

// ownerOf is the claim that an address object was made for; empty for one that somebody registered.
func ownerOf(h held) types.UID {
	for _, o := range h.GetOwnerReferences() {
		if o.Kind == h.claim.kind && o.Name == h.claim.name {
			return o.UID
		}
	}
	return ""
}

// objectsOf are the names of the address objects that name a claim.
func (l *ledger) objectsOf(k key) (names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name := range l.objects[k] {
		names = append(names, name)
	}
	return names
}

func (l *ledger) addObject(h held) {
	if l.objects[h.claim] == nil {
		l.objects[h.claim] = map[string]bool{}
	}
	l.objects[h.claim][h.GetName()] = true
}

func (l *ledger) dropObject(h held) {
	delete(l.objects[h.claim], h.GetName())
	if len(l.objects[h.claim]) == 0 {
		delete(l.objects, h.claim)
	}
}

// guarded says whether a held lock of the claim stands behind an address object.
func (l *ledger) guarded(h held, lockName string) bool {
	lock := l.locks[lockName]
	return lock != nil && lock.Spec.State == lockv1.LockHeld && keyOf(lock.Spec.Claim) == h.claim
}
