package ipam

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	capi "github.com/lifecycle-agent/lifecycle-agent/api/capi/v1beta2"
	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/kinds"
)

// load learns, before the first answer, of everything that there is. Afterwards the watches do.
func (r *Reconciler) load(ctx context.Context) error {
	r.loading.Lock()
	defer r.loading.Unlock()
	if r.loaded {
		return nil
	}
	locks := &lockv1.AddressLockList{}
	if err := r.Client.List(ctx, locks, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list locks: %w", err)
	}
	for i := range locks.Items {
		r.ledger.observe(&locks.Items[i])
	}
	r.early.end() // what it locked, the watch tells of
	if err := r.pools(ctx, r.ledger); err != nil {
		return err
	}
	if err := r.noteAddresses(ctx, ""); err != nil {
		return err
	}
	if err := r.missed(ctx); err != nil {
		return err
	}
	r.loaded = true
	return nil
}

// pools tells a ledger of the pools.
func (r *Reconciler) pools(ctx context.Context, of *ledger) error {
	pools := &metal3.IPPoolList{}
	if err := r.Client.List(ctx, pools); err != nil {
		return fmt.Errorf("list pools: %w", err)
	}
	for i := range pools.Items {
		o := &pools.Items[i]
		if spec, err := kinds.Spec(o); err == nil {
			_ = of.setPool(o, spec) // its own reconciliation says what is wrong
		}
	}
	return nil
}

// noteAddresses looks for address objects that no lock guards.
func (r *Reconciler) noteAddresses(ctx context.Context, namespace string) error {
	return r.addresses(ctx, namespace, r.note)
}

// addresses tells of the address objects of a namespace, or of all.
func (r *Reconciler) addresses(ctx context.Context, namespace string, each func(held)) error {
	natives := &metal3.IPAddressList{}
	if err := r.Client.List(ctx, natives, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list addresses: %w", err)
	}
	for i := range natives.Items {
		each(native{}.of(&natives.Items[i]))
	}
	if !r.Contract {
		return nil
	}
	contracts := &capi.IPAddressList{}
	if err := r.Client.List(ctx, contracts, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list addresses: %w", err)
	}
	for i := range contracts.Items {
		each(contract{}.of(&contracts.Items[i]))
	}
	return nil
}

// note makes sure that the claim of an address object without a lock is looked at.
func (r *Reconciler) note(h held) {
	if r.ledger.note(h) {
		r.queues.addClaim(h.claim)
	}
}

// missed asks for a look at each claim that went away, or came back as another, while nobody watched.
func (r *Reconciler) missed(ctx context.Context) error {
	there := map[key]types.UID{}
	for _, k := range r.kinds() {
		if err := k.each(ctx, r.Client, func(c *claim) { there[c.key] = c.GetUID() }); err != nil {
			return fmt.Errorf("list claims: %w", err)
		}
	}
	for name, uid := range r.ledger.claims() {
		if there[name] != uid || uid == "" {
			r.queues.addClaim(name)
		}
	}
	return nil
}

// untilBehind is how long what was read past the cache is good enough for the claims that come after.
const untilBehind = 5 * time.Second

// catchUp learns of all locks past the cache, which has fallen behind: to meet them one by one, an attempt each, would take
// as many writes as there are.
func (r *Reconciler) catchUp(ctx context.Context) error {
	r.catching.Lock()
	defer r.catching.Unlock()
	if r.Now().Sub(r.caught) < untilBehind {
		return nil
	}
	locks := &lockv1.AddressLockList{}
	if err := r.Reader.List(ctx, locks); err != nil {
		return fmt.Errorf("list locks: %w", err)
	}
	for i := range locks.Items {
		r.ledger.observe(&locks.Items[i])
	}
	r.caught = r.Now()
	r.Log.Info("the watch of locks is behind; they were listed", "locks", len(locks.Items))
	return nil
}
