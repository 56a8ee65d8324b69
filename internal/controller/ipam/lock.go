package ipam

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

// attempts is how many addresses a claim tries before the queue retries it. Each one that turns out to be locked corrects the ledger.
const attempts = 32

// errBusy says that the attempts are used up.
var errBusy = errors.New("every address that was tried is locked by another claim")

// acquireLock makes sure that a claim holds the lock of an address of the pool. It makes no second lock for a claim that it knows to
// have one.
func (r *Reconciler) acquireLock(
	ctx context.Context, c *claim, p *supply, known *lockv1.AddressLock,
) (ipam.Lease, *lockv1.AddressLock, error) {
	if known != nil && known.Spec.Network == p.spec.Network {
		lock, err := r.confirmLock(ctx, c, known)
		if err != nil {
			return ipam.Lease{}, nil, err
		}
		if lease, ok := p.Holder(addressOf(known)); ok && lock != nil {
			return lease, lock, nil
		}
	}
	request, addressName, err := r.buildRequest(c)
	if err != nil {
		return ipam.Lease{}, nil, err
	}
	if err := r.inTurn(c, p, request); err != nil {
		return ipam.Lease{}, nil, err
	}
	for range attempts {
		lease, err := p.Claim(request)
		if err != nil {
			return ipam.Lease{}, nil, toBlocked(err)
		}
		if addressName == "" {
			addressName = c.newAddressName(p.object, lease)
		}
		if err := validName(addressName); err != nil {
			r.ledger.withdrawPromise(c.key, c.pool, request.Claim)
			return ipam.Lease{}, nil, err
		}
		lock, err := r.createLock(ctx, newLock(c, p, lease, addressName))
		if err != nil {
			r.ledger.withdrawPromise(c.key, c.pool, request.Claim)
			return ipam.Lease{}, nil, err
		}
		if lock != nil {
			r.requeuePools(lock)
			return lease, lock, nil
		}
		addressName = ""
	}
	r.ledger.withdrawPromise(c.key, c.pool, request.Claim)
	return ipam.Lease{}, nil, errBusy
}

// inTurn says that a claim has to wait although there are free addresses: claims that were created before it have a right to them. A
// claim for one address, or one that its host had, does not wait.
func (r *Reconciler) inTurn(c *claim, p *supply, q ipam.Request) error {
	_, reserved := p.spec.Reserved[q.Name]
	if q.Address.IsValid() || reserved || p.spec.Strategy == ipam.Sticky && q.Host != "" {
		return nil
	}
	before := r.ledger.countAhead(c.asWaiter(0, &blocked{}))
	if free := p.countAvailable(); before == 0 || free == 0 || before < free {
		return nil
	}
	return &blocked{reason: metal3.ReasonPoolExhausted, // woken when those have had their turn
		message: fmt.Sprintf("pool %s: the free addresses go to %d claims that were created earlier", p.spec.Name, before)}
}

// validName refuses a name that no address object can have.
func validName(name string) error {
	problems := validation.IsDNS1123Subdomain(name)
	if len(problems) == 0 {
		return nil
	}
	return &blocked{reason: metal3.ReasonAllocationFailed, particular: true,
		message: fmt.Sprintf("namePrefix of the pool makes the name %q, which no object can have: %s", name, problems[0])}
}

// maxHost is how long the name of a host may be in a lock.
const maxHost = 317

// buildRequest makes what a claim asks its pool for. A claim that has an address object without a lock is promised that address, and keeps
// the object's name.
func (r *Reconciler) buildRequest(c *claim) (q ipam.Request, addressName string, err error) {
	q = ipam.Request{Claim: string(c.GetUID()), Name: c.GetName(), Host: hostOf(c)}
	if len(q.Host) > maxHost {
		return q, "", &blocked{reason: metal3.ReasonAllocationFailed, particular: true,
			message: fmt.Sprintf("annotation %s has %d characters; the name of a host has at most %d",
				metal3.HostAnnotation, len(q.Host), maxHost)}
	}
	if text := c.GetAnnotations()[metal3.RequestedAddressAnnotation]; text != "" {
		if q.Address, err = ipam.ParseAddr(text); err != nil {
			return q, "", &blocked{reason: metal3.ReasonAddressOutside, particular: true,
				message: fmt.Sprintf("annotation %s: %v", metal3.RequestedAddressAnnotation, err)}
		}
	}
	if object, ok := r.ledger.adoptAddress(c.key, q.Claim, q.Host); ok {
		q.Address, addressName = object.address, object.name
	}
	return q, addressName, nil
}

func hostOf(c *claim) string { return c.GetAnnotations()[metal3.HostAnnotation] }

// ensureHost writes the host of a claim into its lock, where the claim names another than it did: a claim that was registered in advance
// is given the identity of its host when its machine is known, and the address is kept for the host under that name.
func (r *Reconciler) ensureHost(ctx context.Context, c *claim, lock *lockv1.AddressLock) (*lockv1.AddressLock, error) {
	host := hostOf(c)
	if lock == nil || host == "" || len(host) > maxHost || lock.Spec.Host == host {
		return lock, nil
	}
	next := lock.DeepCopy()
	next.Spec.Host = host
	if err := r.Client.Update(ctx, next); err != nil {
		return nil, fmt.Errorf("write host %s into lock %s: %w", host, lock.Name, err)
	}
	r.ledger.recordLock(next)
	return next, nil
}

// confirmLock asks the API, not the cache, for the lock that a claim is known to have; nil says that the claim does not hold it.
func (r *Reconciler) confirmLock(ctx context.Context, c *claim, known *lockv1.AddressLock) (*lockv1.AddressLock, error) {
	actual := &lockv1.AddressLock{}
	err := r.Reader.Get(ctx, client.ObjectKeyFromObject(known), actual)
	if apierrors.IsNotFound(err) {
		r.ledger.removeLock(known)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read lock %s: %w", known.Name, err)
	}
	r.ledger.recordLock(actual)
	if actual.Spec.State != lockv1.LockHeld || actual.Spec.Claim.UID != c.GetUID() {
		return nil, nil
	}
	return actual, nil
}

// createLock creates a lock. Neither lock nor error says that the address is taken.
func (r *Reconciler) createLock(ctx context.Context, lock *lockv1.AddressLock) (*lockv1.AddressLock, error) {
	err := r.Client.Create(ctx, lock)
	if err == nil {
		r.ledger.recordLock(lock)
		return lock, nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("lock %s for %s: %w", lock.Name, keyOf(lock.Spec.Claim), err)
	}
	r.Metrics.conflicts.Inc()
	actual := &lockv1.AddressLock{}
	err = r.Reader.Get(ctx, client.ObjectKeyFromObject(lock), actual)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil // released meanwhile; the next attempt gets it
	case err != nil:
		return nil, fmt.Errorf("read lock %s: %w", lock.Name, err)
	case actual.Spec.State != lockv1.LockHeld:
		return r.takeOver(ctx, actual, lock)
	}
	r.ledger.reapplyLock(actual)
	if actual.Spec.Claim.UID != lock.Spec.Claim.UID {
		return nil, nil
	}
	return actual, nil
}

// takeOver turns a lock that keeps an address back into a claim's, unless the address was promised without knowing of that lock.
func (r *Reconciler) takeOver(ctx context.Context, actual, lock *lockv1.AddressLock) (*lockv1.AddressLock, error) {
	own := actual.Spec.Host != "" && actual.Spec.Host == lock.Spec.Host
	resting := actual.Spec.Until != nil && actual.Spec.Until.After(r.Now())
	if !own && (r.ledger.recordLock(actual) || resting) {
		r.ledger.reapplyLock(actual)
		return nil, nil
	}
	actual.Spec = lock.Spec
	err := r.Client.Update(ctx, actual)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("take over lock %s: %w", actual.Name, err)
	}
	r.ledger.recordLock(actual)
	return actual, nil
}

func newLock(c *claim, p *supply, lease ipam.Lease, addressName string) *lockv1.AddressLock {
	return &lockv1.AddressLock{
		ObjectMeta: metav1.ObjectMeta{Name: lockv1.LockName(p.spec.Network, lease.Address)},
		Spec: lockv1.AddressLockSpec{
			Network: p.spec.Network, Address: lease.Address.String(), State: lockv1.LockHeld,
			Pool:        lockv1.PoolReference{Namespace: p.object.Namespace, Name: p.object.Name},
			AddressName: addressName, Host: hostOf(c),
			Claim: &lockv1.ClaimReference{APIGroup: c.key.group, Kind: c.key.kind, Namespace: c.key.namespace,
				Name: c.key.name, UID: c.GetUID()},
		},
	}
}

// releaseLock releases an address: first its object, then the lock. A lock that its claim is entitled to stays: the cache was stale.
func (r *Reconciler) releaseLock(ctx context.Context, k kind, lock *lockv1.AddressLock) error {
	entitled, err := r.isEntitled(ctx, k, lock)
	if err != nil || entitled {
		return err
	}
	of := keyOf(lock.Spec.Claim)
	object, err := k.getAddress(ctx, r.Reader, types.NamespacedName{Namespace: of.namespace, Name: lock.Spec.AddressName})
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if err == nil && object.belongsTo(of, lock.Spec.Claim.UID) && canonicalAddress(object.address) == lock.Spec.Address {
		if err := r.deleteAddress(ctx, object); err != nil {
			return err
		}
	}
	if err := r.deleteOrReserveLock(ctx, lock); err != nil {
		return err
	}
	r.Metrics.releases.Inc()
	r.Log.Info("address released", "network", lock.Spec.Network, "address", lock.Spec.Address, "claim", of.String())
	return nil
}

// isEntitled asks the API, not the cache, whether a claim has a right to its lock.
func (r *Reconciler) isEntitled(ctx context.Context, k kind, lock *lockv1.AddressLock) (bool, error) {
	of := keyOf(lock.Spec.Claim)
	c, err := k.getClaim(ctx, r.Reader, of.objectKey())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil || c.GetUID() != lock.Spec.Claim.UID || !c.keepsAddress() {
		return false, err
	}
	name := c.addressName
	if name == "" { // no address is published yet; the Cluster API's claims have one name for it, whichever it is
		name = lock.Spec.AddressName
	}
	object, err := k.getAddress(ctx, r.Reader, types.NamespacedName{Namespace: of.namespace, Name: name})
	if apierrors.IsNotFound(err) {
		return name == lock.Spec.AddressName, nil
	}
	if err != nil {
		return false, err
	}
	return !object.belongsTo(of, lock.Spec.Claim.UID) || canonicalAddress(object.address) == lock.Spec.Address, nil
}

// deleteOrReserveLock deletes a lock, or turns it into one that keeps the address back.
func (r *Reconciler) deleteOrReserveLock(ctx context.Context, lock *lockv1.AddressLock) error {
	next := r.keptBack(lock)
	if next == nil {
		return r.deleteLock(ctx, lock)
	}
	if err := r.Client.Update(ctx, next); err != nil {
		return fmt.Errorf("keep back the address of lock %s: %w", lock.Name, err)
	}
	r.ledger.recordLock(next)
	r.requeueAfterRelease(lock)
	return nil
}

// keptBack is the lock of an address that no claim holds, but that is not free either; nil where it is free.
func (r *Reconciler) keptBack(lock *lockv1.AddressLock) *lockv1.AddressLock {
	p := r.ledger.supplyOf(poolOf(lock))
	if p == nil || p.object.DeletionTimestamp != nil {
		return nil
	}
	next := lock.DeepCopy()
	if rest := p.spec.Quarantine; rest > 0 {
		until := metav1.NewTime(r.Now().Add(rest).Add(time.Second - 1).Truncate(time.Second))
		next.Spec.State, next.Spec.Until = lockv1.LockQuarantined, &until
	}
	if p.object.Spec.Sticky && lock.Spec.Host != "" {
		next.Spec.State = lockv1.LockReserved
	}
	if next.Spec.State == lockv1.LockHeld {
		return nil
	}
	return next
}

// deleteLock deletes a lock if it is still as it is known.
func (r *Reconciler) deleteLock(ctx context.Context, lock *lockv1.AddressLock) error {
	uid, version := lock.UID, lock.ResourceVersion
	err := r.Client.Delete(ctx, lock.DeepCopy(), client.Preconditions{UID: &uid, ResourceVersion: &version})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete lock %s: %w", lock.Name, err)
	}
	r.ledger.removeLock(lock)
	r.requeueAfterRelease(lock)
	return nil
}
