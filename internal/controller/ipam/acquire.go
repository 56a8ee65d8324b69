package ipam

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

// attempts is how often a claim tries another address in one go. Each attempt that finds the address locked
// teaches the ledger, so that only a replica that knows very little needs many.
const attempts = 32

// strangers is how many locks in a row that this replica did not know tell it that its cache is far behind.
const strangers = 4

// errAnnotation says that a claim asks for something that is no address.
var errAnnotation = errors.New("annotation " + metal3.RequestedAddressAnnotation)

// errTheirs says that another replica has just locked an address for the claim, and is about to serve it.
var errTheirs = errors.New("another replica serves the claim")

// untilTaken is how long another replica is left alone with a claim that it has locked an address for.
const untilTaken = 3 * time.Second

// errBusy says that the attempts are used up; the queue tries again.
var errBusy = errors.New("every address tried was taken by another replica meanwhile")

// leave says that another replica is, or should be, about to serve a claim.
func (r *Reconciler) leave(c *claim, lock *lockv1.AddressLock) bool {
	if lock != nil {
		return r.theirs(c, lock)
	}
	return r.Now().Sub(c.GetCreationTimestamp().Time) < untilOverdue && r.peers.leave(c.GetUID())
}

// theirs says that another replica has just made the lock, and goes on with it.
func (r *Reconciler) theirs(c *claim, lock *lockv1.AddressLock) bool {
	return c.address == "" && r.peers.wrote(lock) && r.Now().Sub(lock.CreationTimestamp.Time) < untilTaken
}

// acquire gets a claim its lock. It never creates a second one for a claim that it knows to have one.
func (r *Reconciler) acquire(
	ctx context.Context, k kind, c *claim, p *pool, known *lockv1.AddressLock,
) (ipam.Lease, *lockv1.AddressLock, error) {
	request, err := r.request(c, p)
	if err != nil {
		return ipam.Lease{}, nil, err
	}
	if known != nil {
		r.ledger.prefer(known)
	}
	r.ledger.asked(c.key, request.Claim)
	for n := range attempts {
		if n == strangers {
			if err := r.catchUp(ctx); err != nil {
				return ipam.Lease{}, nil, err
			}
		}
		request.Share = r.peers.share() // an attempt that fails tells of a peer
		lease, err := p.Claim(request)
		if err != nil {
			return ipam.Lease{}, nil, err
		}
		lock, err := r.confirm(ctx, c, known, lease)
		if err == nil && lock == nil {
			lock, err = r.lock(ctx, k, c, p, lease)
		}
		if err != nil || lock != nil {
			r.queues.addPool(c.pool)
			return lease, lock, err
		}
	}
	return ipam.Lease{}, nil, errBusy
}

// request is what a claim asks its pool for. A claim that has an address object from before locks were kept, asks
// for that address.
func (r *Reconciler) request(c *claim, p *pool) (ipam.Request, error) {
	q := ipam.Request{Claim: string(c.GetUID()), Name: c.GetName(), Host: hostOf(c)}
	if text := c.GetAnnotations()[metal3.RequestedAddressAnnotation]; text != "" {
		a, err := ipam.ParseAddr(text)
		if err != nil {
			return q, fmt.Errorf("%w: %w", errAnnotation, err)
		}
		q.Address = a
	}
	if old, ok := r.ledger.unlockedOf(c.key); ok {
		// It has the address whatever the pool says: excluded, outside, reserved.
		q.Address = old.Addr
		p.restore(ipam.Holding{Claim: q.Claim, Host: q.Host, Address: old.Addr}, true)
	}
	return q, nil
}

func hostOf(c *claim) string { return c.GetAnnotations()[metal3.HostAnnotation] }

// confirm asks the API, not the cache, for the lock that a claim is known to have. Neither lock nor error means: it has
// that no more, or not of this address.
func (r *Reconciler) confirm(
	ctx context.Context, c *claim, known *lockv1.AddressLock, lease ipam.Lease,
) (*lockv1.AddressLock, error) {
	if known == nil || addressOf(known) != lease.Address {
		return nil, nil
	}
	there := &lockv1.AddressLock{}
	err := r.Reader.Get(ctx, client.ObjectKeyFromObject(known), there)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read lock %s: %w", known.Name, err)
	}
	if there.Spec.State != lockv1.LockHeld || there.Spec.Claim.UID != c.GetUID() {
		return nil, nil
	}
	r.ledger.observe(there)
	return there, nil
}

// lock creates the lock of a lease. Neither lock nor error means: somebody else has the address.
func (r *Reconciler) lock(ctx context.Context, k kind, c *claim, p *pool, lease ipam.Lease) (*lockv1.AddressLock, error) {
	name := k.addressName(c, p.object, lease)
	if old, ok := r.ledger.unlockedOf(c.key); ok {
		name = old.name
	}
	lock := r.newLock(name, c, p, lease)
	err := r.Client.Create(ctx, lock)
	if err == nil {
		r.ledger.observe(lock)
		return lock, nil
	}
	if !apierrors.IsAlreadyExists(err) {
		// It may exist all the same. The address stays promised to this claim, which asks again.
		return nil, fmt.Errorf("lock %s for %s: %w", lock.Name, c.key, err)
	}
	r.Metrics.conflicts.Inc()
	there := &lockv1.AddressLock{}
	err = r.Reader.Get(ctx, client.ObjectKeyFromObject(lock), there)
	if apierrors.IsNotFound(err) {
		return nil, nil // gone again; the next attempt gets it
	}
	if err != nil {
		return nil, fmt.Errorf("read lock %s: %w", lock.Name, err)
	}
	r.peers.hear(there)
	if there.Spec.State == lockv1.LockHeld {
		r.ledger.observe(there)
		if there.Spec.Claim.UID == c.GetUID() {
			if r.theirs(c, there) {
				return nil, errTheirs
			}
			return there, nil
		}
		r.ledger.repeat(there)
		return nil, nil
	}
	return r.takeOver(ctx, there, lock)
}

// takeOver turns a lock that is kept back into this claim's, where the arithmetic, told of it, agrees.
func (r *Reconciler) takeOver(ctx context.Context, there, lock *lockv1.AddressLock) (*lockv1.AddressLock, error) {
	news := r.ledger.observe(there)
	own := there.Spec.Host != "" && there.Spec.Host == lock.Spec.Host
	resting := there.Spec.Until != nil && there.Spec.Until.After(r.Now())
	if !own && (news || resting) { // it was promised without knowing better
		r.ledger.repeat(there)
		return nil, nil
	}
	there.Spec, there.Annotations = lock.Spec, lock.Annotations
	err := r.Client.Update(ctx, there)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("take over lock %s: %w", there.Name, err)
	}
	r.ledger.observe(there)
	return there, nil
}

func (r *Reconciler) newLock(name string, c *claim, p *pool, lease ipam.Lease) *lockv1.AddressLock {
	return &lockv1.AddressLock{
		ObjectMeta: metav1.ObjectMeta{Name: lockv1.LockName(p.spec.Network, lease.Address),
			Annotations: map[string]string{lockv1.ReplicaAnnotation: r.Name}},
		Spec: lockv1.AddressLockSpec{
			Network: p.spec.Network, Address: lease.Address.String(), State: lockv1.LockHeld,
			Pool:        lockv1.PoolReference{Namespace: p.object.Namespace, Name: p.object.Name},
			AddressName: name, Host: hostOf(c),
			Claim: &lockv1.ClaimReference{APIGroup: c.key.group, Kind: c.key.kind, Namespace: c.key.namespace,
				Name: c.key.name, UID: c.GetUID()},
		},
	}
}

// refused turns a refusal of the arithmetic into words for the claim's status.
func refused(err error) verdict {
	reasons := []struct {
		err    error
		reason string
	}{
		{ipam.ErrExhausted, metal3.ReasonPoolExhausted},
		{ipam.ErrOutside, metal3.ReasonAddressOutside},
		{ipam.ErrHeld, metal3.ReasonAddressTaken}, {ipam.ErrReserved, metal3.ReasonAddressTaken},
		{ipam.ErrQuarantined, metal3.ReasonAddressTaken},
		{errAnnotation, metal3.ReasonAddressOutside},
		{ipam.ErrConflict, metal3.ReasonRequestsDisagree},
	}
	for _, r := range reasons {
		if errors.Is(err, r.err) {
			return verdict{reason: r.reason, message: err.Error()}
		}
	}
	return verdict{reason: metal3.ReasonAllocationFailed, message: err.Error()}
}
