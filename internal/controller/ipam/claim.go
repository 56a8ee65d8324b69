package ipam

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube/runtimeclient"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

const (
	// pausedRetry is how soon a paused Cluster is read again; pools and claims are watched.
	pausedRetry = 15 * time.Second
	// cacheLag is how soon a claim is reconciled again whose last write the cache does not have yet.
	cacheLag = 50 * time.Millisecond
	// poolGrace is how long a claim waits for its pool before it reports that there is none.
	poolGrace = 2 * time.Second
	// invalidRetry is how soon a claim is tried again whose address object the API server finds invalid, and forbiddenRetry where a
	// quota or a right is missing. A server that starts refuses so too, until it has loaded the rights.
	invalidRetry, forbiddenRetry = 5 * time.Minute, 10 * time.Second
)

// blocked says why a claim gets no address now.
type blocked struct {
	reason, message string
	// retryAt is when the same claim can succeed without any other change, if known.
	retryAt time.Time
	// particular says that the claim asks for one address, which may be free when the pool has no other.
	particular bool
	// unsure says that the pool may exist all the same: pool and claim may come together, and the claim be seen first.
	unsure bool
}

// Error implements error.
func (b *blocked) Error() string { return b.message }

// reconcileClaim allocates the address of a claim, or releases what a claim had that is gone or being deleted.
func (r *Reconciler) reconcileClaim(ctx context.Context, k kind, name types.NamespacedName) (ctrl.Result, error) {
	if err := r.loadLedger(ctx); err != nil {
		return ctrl.Result{}, err
	}
	var pool types.NamespacedName
	defer func() { r.endTurn(k.keyOf(name), pool) }()
	c, err := k.getClaim(ctx, r.Client, name)
	if err == nil {
		pool = c.pool
	}
	if apierrors.IsNotFound(err) {
		return ctrl.Result{}, r.releaseAll(ctx, k, k.keyOf(name))
	}
	if err != nil || c.foreign {
		return ctrl.Result{}, err
	}
	if r.ledger.isCacheBehind(c.key, c.GetResourceVersion()) {
		return ctrl.Result{RequeueAfter: cacheLag}, nil // the event of an own status write is filtered out
	}
	if paused, err := r.isPaused(ctx, c); err != nil || paused {
		r.ledger.removeWaiter(c.pool, c.key)
		return ctrl.Result{RequeueAfter: pausedRetry}, err
	}
	if c.GetDeletionTimestamp() != nil {
		return ctrl.Result{}, r.releaseDeleted(ctx, k, c)
	}
	return r.serveClaim(ctx, k, c)
}

// endTurn requeues the claims that get what a claim left.
func (r *Reconciler) endTurn(of key, pool types.NamespacedName) {
	for _, next := range r.ledger.endTurn(of, pool) {
		r.queues.addClaim(next)
	}
}

// serveClaim allocates an address: the claim's lock, its address object, its status, in this order.
func (r *Reconciler) serveClaim(ctx context.Context, k kind, c *claim) (ctrl.Result, error) {
	news := r.ledger.newsOf(c.pool)
	published := r.publishedAddress(ctx, k, c)
	lock, surplus := r.chooseLock(c, published)
	for _, extra := range surplus {
		if err := r.releaseLock(ctx, k, extra); err != nil {
			return ctrl.Result{}, err
		}
	}
	lock, err := r.ensureHost(ctx, c, lock)
	if err != nil {
		return ctrl.Result{}, err
	}
	if lock != nil && lock.Spec.Address == published {
		return ctrl.Result{}, r.deleteOrphans(ctx, k, c.key, c.addressName)
	}
	pool, err := r.poolFor(ctx, c, lock)
	if err != nil {
		return r.refuseClaim(ctx, k, c, news, err)
	}
	if err := r.ensureFinalizer(ctx, c); err != nil {
		return ctrl.Result{}, err
	}
	lease, held, err := r.acquireLock(ctx, c, pool, lock)
	if err != nil {
		return r.refuseClaim(ctx, k, c, news, err)
	}
	r.ledger.removeWaiter(c.pool, c.key)
	name, err := r.ensureAddress(ctx, k, c, pool, lease, held)
	switch {
	case c.addressName != "":
	case apierrors.IsInvalid(err):
		return r.refuseObject(ctx, k, c, held, err)
	case apierrors.IsForbidden(err):
		if lock != nil || held.Spec.Host != "" {
			held = nil // it may be the address that a host runs with
		}
		return r.refuseObject(ctx, k, c, held, err)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if c.addressName != name {
		r.Metrics.countAllocation(k, r.Now().Sub(c.GetCreationTimestamp().Time))
	}
	return ctrl.Result{}, r.reportOutcome(ctx, k, c, outcome{addressName: name, reason: metal3.ReasonAllocated,
		message: fmt.Sprintf("%s of pool %s", lease.Address, pool.spec.Name)})
}

// isPaused says that a claim, its pool or the Cluster of either is paused.
func (r *Reconciler) isPaused(ctx context.Context, c *claim) (bool, error) {
	if annotatedPaused(c.Object) {
		return true, nil
	}
	clusters := map[string]bool{c.cluster: true}
	if p := r.ledger.supplyOf(c.pool); p != nil {
		if annotatedPaused(p.object) {
			return true, nil
		}
		if p.object.Spec.ClusterName != nil {
			clusters[*p.object.Spec.ClusterName] = true
		}
	}
	for name := range clusters {
		yes, err := cluster.Paused(ctx, runtimeclient.NewReader(r.Reader), types.NamespacedName{Namespace: c.key.namespace, Name: name})
		if err != nil || yes {
			return yes, err
		}
	}
	return false, nil
}

func annotatedPaused(o client.Object) bool {
	_, yes := o.GetAnnotations()[metal3.PausedAnnotation]
	return yes
}

// chooseLock finds the lock that a claim keeps, and those to release: of an earlier claim of that name, or a second one that was
// made before the first was known. The published address decides which one is kept; until one is published, none is surplus.
func (r *Reconciler) chooseLock(c *claim, published string) (keep *lockv1.AddressLock, surplus []*lockv1.AddressLock) {
	var own []*lockv1.AddressLock
	for _, lock := range r.ledger.locksOf(c.key) {
		if lock.Spec.Claim.UID == c.GetUID() {
			own = append(own, lock)
		} else {
			surplus = append(surplus, lock)
		}
	}
	slices.SortFunc(own, func(a, b *lockv1.AddressLock) int { return strings.Compare(a.Name, b.Name) })
	for _, lock := range own {
		if lock.Spec.Address == published {
			return lock, append(surplus, slices.DeleteFunc(own, func(l *lockv1.AddressLock) bool { return l == lock })...)
		}
	}
	if len(own) > 0 {
		keep = own[0]
	}
	return keep, surplus
}

// poolFor is the pool that serves a claim. A claim that has its lock is served whatever became of the pool, as long as the pool can
// be calculated with.
func (r *Reconciler) poolFor(ctx context.Context, c *claim, lock *lockv1.AddressLock) (*supply, error) {
	if c.badReference != "" {
		return nil, &blocked{reason: metal3.ReasonPoolNotFound, message: c.badReference}
	}
	if p := r.ledger.supplyOf(c.pool); p != nil {
		r.ledger.endPoolGrace(c.key)
		if reason, message := r.ledger.closedReason(p); reason != "" && lock == nil {
			return nil, &blocked{reason: metal3.ReasonPoolNotReady, message: message}
		}
		return p, nil
	}
	if err := r.Client.Get(ctx, c.pool, &metal3.IPPool{}); err != nil {
		return nil, &blocked{reason: metal3.ReasonPoolNotFound, unsure: true, message: fmt.Sprintf("pool %s does not exist", c.pool)}
	}
	return nil, &blocked{reason: metal3.ReasonPoolNotReady, unsure: true,
		message: fmt.Sprintf("pool %s cannot allocate addresses; its condition Ready says why", c.pool)}
}

// ensureFinalizer adds the finalizer to a claim whose contract asks for one.
func (r *Reconciler) ensureFinalizer(ctx context.Context, c *claim) error {
	if !c.needsFinalizer || controllerutil.ContainsFinalizer(c.Object, c.ownFinalizers[0]) {
		return nil
	}
	before := c.DeepCopyObject().(client.Object)
	controllerutil.AddFinalizer(c.Object, c.ownFinalizers[0])
	if err := r.Client.Patch(ctx, c.Object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("add finalizer to %s: %w", c.key, err)
	}
	r.ledger.recordVersion(c.key, c.GetResourceVersion())
	return nil
}

// refuseClaim reports why a claim gets no address, and puts it on the waitlist of its pool. Other errors are the API's: the queue retries.
func (r *Reconciler) refuseClaim(ctx context.Context, k kind, c *claim, news uint64, err error) (ctrl.Result, error) {
	var why *blocked
	if !errors.As(err, &why) {
		return ctrl.Result{}, err
	}
	result, grace := ctrl.Result{}, time.Duration(0)
	if why.unsure && len(c.conditions) == 0 {
		grace = r.ledger.startPoolGrace(c.key, poolGrace)
	}
	switch {
	case !r.ledger.addWaiter(c.asWaiter(news, why)):
		result.RequeueAfter = cacheLag
	case grace > 0:
		result.RequeueAfter = grace
	case !why.retryAt.IsZero():
		result.RequeueAfter = max(why.retryAt.Sub(r.Now()), time.Second)
	}
	if grace > 0 {
		return result, nil
	}
	r.Metrics.countRefusal(k, why.reason)
	return result, r.reportOutcome(ctx, k, c, outcome{reason: why.reason, message: status.ClipNote(why.message)})
}

// asWaiter is a claim on the waitlist of its pool.
func (c *claim) asWaiter(news uint64, why *blocked) waiter {
	return waiter{key: c.key, pool: c.pool, created: c.GetCreationTimestamp().Time, news: news, particular: why.particular,
		any: why.reason == metal3.ReasonPoolExhausted && !why.particular}
}

// refuseObject reports that the API server refuses the address object of a claim, because of what it says or of a quota, and frees the
// address unless lock is nil. The claim does not wait for its pool: other claims may be refused alike, and would wake each other.
func (r *Reconciler) refuseObject(ctx context.Context, k kind, c *claim, lock *lockv1.AddressLock, why error) (ctrl.Result, error) {
	if lock != nil {
		r.ledger.withdrawPromise(c.key, c.pool, string(c.GetUID()))
		if err := r.deleteLock(ctx, lock); err != nil {
			return ctrl.Result{}, err
		}
	}
	retry := invalidRetry
	if apierrors.IsForbidden(why) {
		retry = forbiddenRetry
	}
	r.Metrics.countRefusal(k, metal3.ReasonAllocationFailed)
	return ctrl.Result{RequeueAfter: retry},
		r.reportOutcome(ctx, k, c, outcome{reason: metal3.ReasonAllocationFailed, message: status.ClipNote(why.Error())})
}

// toBlocked turns a refusal of the arithmetic into what blocks the claim.
func toBlocked(err error) error {
	b := &blocked{reason: metal3.ReasonAllocationFailed, message: err.Error(), particular: !errors.Is(err, ipam.ErrExhausted)}
	for _, r := range []struct {
		err    error
		reason string
	}{
		{ipam.ErrExhausted, metal3.ReasonPoolExhausted},
		{ipam.ErrOutside, metal3.ReasonAddressOutside},
		{ipam.ErrHeld, metal3.ReasonAddressTaken}, {ipam.ErrReserved, metal3.ReasonAddressTaken},
		{ipam.ErrQuarantined, metal3.ReasonAddressTaken},
		{ipam.ErrConflict, metal3.ReasonRequestsDisagree},
	} {
		if errors.Is(err, r.err) {
			b.reason = r.reason
		}
	}
	var no *ipam.Refusal
	if errors.As(err, &no) {
		b.retryAt = no.RetryAt
	}
	return b
}

// reportOutcome writes the outcome into the claim's status, if it is news. It fails when the claim has changed since it was read.
func (r *Reconciler) reportOutcome(ctx context.Context, k kind, c *claim, o outcome) error {
	ready := apimeta.FindStatusCondition(c.conditions, metal3.ConditionReady)
	if c.addressName == o.addressName && ready != nil && ready.Reason == o.reason && ready.Message == o.message {
		return nil
	}
	after := k.withOutcome(c, o, metav1.NewTime(r.Now()))
	patch := client.MergeFromWithOptions(c.Object, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, after, patch); err != nil {
		return fmt.Errorf("write status of %s: %w", c.key, err)
	}
	r.ledger.recordVersion(c.key, after.GetResourceVersion())
	// A claim that is served at once has no event: events are writes too, and there may be thousands of claims.
	switch {
	case o.addressName == "" && (ready == nil || ready.Reason != o.reason):
		r.emitEvent(c.Object, corev1.EventTypeWarning, o.reason, "Allocate", o.message)
	case o.addressName != "" && ready != nil && ready.Reason != o.reason:
		r.emitEvent(c.Object, corev1.EventTypeNormal, o.reason, "Allocate", o.message)
	}
	return nil
}

// releaseAll releases what a claim had that the cache does not know any more.
func (r *Reconciler) releaseAll(ctx context.Context, k kind, gone key) error {
	for _, lock := range r.ledger.locksOf(gone) {
		if err := r.releaseLock(ctx, k, lock); err != nil {
			return err
		}
	}
	if err := r.deleteOrphans(ctx, k, gone, ""); err != nil {
		return err
	}
	r.ledger.forgetClaim(gone)
	return nil
}

// releaseDeleted releases what a claim has that is being deleted, unless another controller's finalizer keeps it.
func (r *Reconciler) releaseDeleted(ctx context.Context, k kind, c *claim) error {
	if c.keepsAddress() {
		return nil
	}
	if err := r.releaseAll(ctx, k, c.key); err != nil {
		return err
	}
	if len(r.ledger.locksOf(c.key)) > 0 {
		return fmt.Errorf("release %s: a lock of it was made meanwhile", c.key)
	}
	if err := r.removeFinalizers(ctx, c.Object, c.ownFinalizers...); err != nil {
		return fmt.Errorf("remove finalizer from %s: %w", c.key, err)
	}
	return nil
}
