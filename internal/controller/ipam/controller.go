package ipam

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

// Options are what the controller is given.
type Options struct {
	// Client reads from a cache and writes; Reader reads past the cache.
	Client client.Client
	Reader client.Reader
	Events events.EventRecorder
	Log    *slog.Logger
	// Metrics belong to this replica.
	Metrics *Metrics
	Now     func() time.Time
	// Name tells this replica from others that are active, and from itself before a restart.
	Name string
	// Contract says that the Cluster API's kinds are served too.
	Contract bool
}

// Reconciler gives addresses out and takes them back.
type Reconciler struct {
	Options
	ledger *ledger
	queues queues
	peers  *peers

	early headStart // over when the ledger is about to be loaded

	loading sync.Mutex
	loaded  bool

	catching sync.Mutex
	caught   time.Time // when the locks were read past the cache last
}

// New makes a reconciler that knows nothing yet; it learns what there is before its first answer.
func New(o Options) *Reconciler {
	return &Reconciler{Options: o, ledger: newLedger(o.Now), peers: newPeers(o.Name, o.Now)}
}

// kinds are the kinds of claims that are served.
func (r *Reconciler) kinds() []kind {
	if r.Contract {
		return []kind{native{}, contract{}}
	}
	return []kind{native{}}
}

// whilePaused is how soon a Cluster that was paused is asked again; pools and claims are watched.
const whilePaused = 15 * time.Second

// untilSeen is how soon a claim is looked at again whose last write has not come back through the cache.
const untilSeen = 50 * time.Millisecond

// reconcileClaim brings one claim where it should be. If it was its turn, it is that of those behind it afterwards.
func (r *Reconciler) reconcileClaim(ctx context.Context, k kind, name types.NamespacedName) (ctrl.Result, error) {
	if err := r.load(ctx); err != nil {
		return ctrl.Result{}, err
	}
	defer func() {
		for _, next := range r.ledger.handOn(k.key(name)) {
			r.queues.addClaim(next)
		}
	}()
	return r.look(ctx, k, name)
}

func (r *Reconciler) look(ctx context.Context, k kind, name types.NamespacedName) (ctrl.Result, error) {
	c, err := k.get(ctx, r.Client, name)
	if apierrors.IsNotFound(err) {
		return ctrl.Result{}, r.vanished(ctx, k, k.key(name))
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read %s: %w", k.key(name), err)
	}
	if c.foreign {
		return ctrl.Result{}, nil
	}
	if r.ledger.outdated(c.key, c.GetResourceVersion()) {
		// Our own write is left out of the events that are followed: nobody else would ask again.
		return ctrl.Result{RequeueAfter: untilSeen}, nil
	}
	if paused, err := r.paused(ctx, c); err != nil || paused {
		return ctrl.Result{RequeueAfter: whilePaused}, err
	}
	if c.GetDeletionTimestamp() != nil {
		return ctrl.Result{}, r.deleting(ctx, k, c)
	}
	return r.serve(ctx, k, c)
}

// serve gives a claim its address, or says why not.
func (r *Reconciler) serve(ctx context.Context, k kind, c *claim) (ctrl.Result, error) {
	heard := r.ledger.newsOf(c.pool)
	lock, surplus := r.choose(ctx, k, c)
	for _, extra := range surplus {
		if err := r.release(ctx, k, extra); err != nil {
			return ctrl.Result{}, err
		}
	}
	if lock != nil && r.addressOf(ctx, k, c) == lock.Spec.Address {
		return ctrl.Result{}, r.bury(ctx, k, c.key, c.address)
	}
	pool, problem := r.poolFor(ctx, c, lock)
	if problem != nil {
		return r.wait(c, waiter{key: c.key, heard: heard}), r.tell(ctx, k, c, *problem)
	}
	if r.leave(c, lock) {
		return ctrl.Result{RequeueAfter: untilTaken}, nil
	}
	if err := r.hold(ctx, k, c); err != nil {
		return ctrl.Result{}, err
	}
	lease, lock, err := r.acquire(ctx, k, c, pool, lock)
	if err != nil {
		return r.unserved(ctx, k, c, heard, err)
	}
	return ctrl.Result{}, r.give(ctx, k, c, pool, lease, lock)
}

// give makes the address object and tells the claim of it. Whoever tells first has decided.
func (r *Reconciler) give(ctx context.Context, k kind, c *claim, p *pool, lease ipam.Lease, lock *lockv1.AddressLock) error {
	name, err := r.ensureAddress(ctx, k, c, p, lease, lock)
	if err != nil {
		return err
	}
	if c.address != name {
		r.Metrics.allocated(k, r.Now().Sub(c.GetCreationTimestamp().Time))
	}
	return r.tell(ctx, k, c, verdict{address: name, reason: metal3.ReasonAllocated,
		message: fmt.Sprintf("%s of pool %s", lease.Address, p.spec.Name)})
}

// unserved says why a claim has no address, and waits for something to change.
func (r *Reconciler) unserved(ctx context.Context, k kind, c *claim, heard uint64, err error) (ctrl.Result, error) {
	if errors.Is(err, errTheirs) {
		return ctrl.Result{RequeueAfter: untilTaken}, nil
	}
	refusal, isRefusal := asRefusal(err)
	if !isRefusal {
		return ctrl.Result{}, err // a matter of the API: the queue tries again
	}
	v := refused(err)
	r.Metrics.refused(k, v.reason)
	result := r.wait(c, waiter{key: c.key, heard: heard, particular: !errors.Is(err, ipam.ErrExhausted)})
	if result.RequeueAfter == 0 && refusal != nil && !refusal.RetryAt.IsZero() {
		result.RequeueAfter = max(refusal.RetryAt.Sub(r.Now()), time.Second)
	}
	return result, r.tell(ctx, k, c, v)
}

// wait has a claim wait for news of its pool. Where there are some already, it is looked at again.
func (r *Reconciler) wait(c *claim, as waiter) ctrl.Result {
	if r.ledger.wait(c.pool, as) {
		return ctrl.Result{}
	}
	return ctrl.Result{RequeueAfter: untilSeen}
}

// hold puts the finalizer on a claim whose contract wants one.
func (r *Reconciler) hold(ctx context.Context, k kind, c *claim) error {
	names, keep := k.finalizers()
	if !keep || controllerutil.ContainsFinalizer(c.Object, names[0]) {
		return nil
	}
	before := c.DeepCopyObject().(client.Object)
	controllerutil.AddFinalizer(c.Object, names[0])
	if err := r.Client.Patch(ctx, c.Object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("put finalizer on %s: %w", c.key, err)
	}
	r.ledger.wrote(c.key, c.GetResourceVersion())
	return nil
}

// tell writes a verdict into the claim's status, if it says anything new. It fails when the claim is not any more
// what was read.
func (r *Reconciler) tell(ctx context.Context, k kind, c *claim, v verdict) error {
	if c.address == v.address && said(c.conditions, v) {
		return nil
	}
	after := k.tell(c, v, metav1.NewTime(r.Now()))
	patch := client.MergeFromWithOptions(c.Object, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, after, patch); err != nil {
		return fmt.Errorf("write status of %s: %w", c.key, err)
	}
	r.ledger.wrote(c.key, after.GetResourceVersion())
	r.announceClaim(c, v)
	return nil
}

// said tells whether the condition says so already.
func said(conditions []metav1.Condition, v verdict) bool {
	for _, c := range conditions {
		if c.Type == metal3.ConditionReady {
			return c.Reason == v.reason && c.Message == v.message
		}
	}
	return false
}
