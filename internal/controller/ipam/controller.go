// Package ipam is the controller of address pools and claims: IPPool, IPClaim and IPAddress of ipam.metal3.io, and IPAddressClaim and
// IPAddress of the Cluster API's contract.
//
// A claim is served in claim.go, from top to bottom: the lock of an address (lock.go), the address object (address.go), the status of
// the claim. That an address is allocated once rests on the lock alone, an AddressLock whose name is made of the network and the
// address: the API server lets one of two creators of a name succeed. What this process holds in memory (ledger.go: locks and address
// objects; supply.go: what each pool has left) is derived from the API, may be stale, and costs another attempt at worst.
//
// One replica is elected and allocates; the others keep their caches warm. A replica that has lost its lease without noticing is
// stopped by the locks. Of two locks of a claim, the one that the claim's status leads to is kept; the other is released. A release
// reads the claim past the cache first, deletes the address object, and then the lock, each only if it is still what was read.
//
// internal/controller sets it up. It imports no other controller, and nothing of the host.
package ipam

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	capi "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/kinds"
)

// What address management may do in the cluster; config/rbac is generated from this.
//
// +kubebuilder:rbac:groups=ipam.metal3.io,resources=ippools,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=ipam.metal3.io,resources=ippools/status,verbs=patch
// +kubebuilder:rbac:groups=ipam.metal3.io,resources=ippools/finalizers,verbs=update
// +kubebuilder:rbac:groups=ipam.metal3.io,resources=ipclaims,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=ipam.metal3.io,resources=ipclaims/status,verbs=patch
// +kubebuilder:rbac:groups=ipam.metal3.io,resources=ipclaims/finalizers,verbs=update
// +kubebuilder:rbac:groups=ipam.metal3.io,resources=ipaddresses,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=ipam.cluster.x-k8s.io,resources=ipaddressclaims,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=ipam.cluster.x-k8s.io,resources=ipaddressclaims/status,verbs=patch
// +kubebuilder:rbac:groups=ipam.cluster.x-k8s.io,resources=ipaddressclaims/finalizers,verbs=update
// +kubebuilder:rbac:groups=ipam.cluster.x-k8s.io,resources=ipaddresses,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=ipam.lca.openshift.io,resources=addresslocks,verbs=get;list;watch;create;update;delete
//
// Whether a Cluster is paused:
//
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get
//
// Events are written beside the object:
//
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// ClientQPS and ClientBurst are the requests a second that the operator may send for each kind. A claim costs three; the default of the
// client library would allow sixteen claims a second. The API server's own priority and fairness is what protects it.
const (
	ClientQPS   = 1000
	ClientBurst = 2000
)

// workers is how many claims of a kind are served at a time. Most of the time of each is waiting for the API.
const workers = 8

// Options are what the controller is given.
type Options struct {
	// Client reads from a cache and writes; Reader reads past the cache.
	Client  client.Client
	Reader  client.Reader
	Events  events.EventRecorder
	Log     *slog.Logger
	Metrics *Metrics
	Now     func() time.Time
	// Contract is the version in which the Cluster API's kinds are served too; empty where they are not.
	Contract string
}

// Reconciler allocates and releases addresses.
type Reconciler struct {
	Options
	ledger *ledger
	queues queues

	serving sync.Mutex
	served  []kind

	loading sync.Mutex
	loaded  bool
}

// New makes a reconciler that knows nothing; it reads everything before its first allocation.
func New(o Options) *Reconciler {
	r := &Reconciler{Options: o, ledger: newLedger(o.Now), queues: queues{claims: map[string]queue{}}, served: []kind{native{}}}
	if o.Contract != "" {
		r.served = append(r.served, contract{o.Contract})
	}
	return r
}

// claimKinds are the kinds of claims that are served.
func (r *Reconciler) claimKinds() []kind {
	r.serving.Lock()
	defer r.serving.Unlock()
	return slices.Clone(r.served)
}

// SetupWithManager adds one controller for pools and one for each kind of claim. A replica that is not the leader fills their caches
// and queues too, so that one that becomes the leader serves at once.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	warm := true
	err := ctrl.NewControllerManagedBy(mgr).Named("ippool").
		For(&metal3.IPPool{}, builder.WithPredicates(specChanged())).
		WithOptions(controller.Options{EnableWarmup: &warm}).
		WatchesRawSource(r.queues.tapQueue(func(q queue) { r.queues.pools = q })).
		Complete(reconcile.Func(func(ctx context.Context, q reconcile.Request) (reconcile.Result, error) {
			return r.reconcilePool(ctx, q.NamespacedName)
		}))
	if err != nil {
		return fmt.Errorf("watch pools: %w", err)
	}
	for _, k := range r.claimKinds() {
		if err := r.watchClaims(mgr, k); err != nil {
			return err
		}
	}
	if err := mgr.Add(manager.RunnableFunc(r.followLeased)); err != nil {
		return fmt.Errorf("follow what the cluster leases: %w", err)
	}
	if err := mgr.Add(manager.RunnableFunc(r.pollWaiting)); err != nil {
		return fmt.Errorf("try claims that wait again: %w", err)
	}
	return r.followObjects(mgr.GetCache(), r.ledgerHandlers(r.Contract != ""))
}

// watchClaims adds the controller of a kind of claims.
func (r *Reconciler) watchClaims(mgr ctrl.Manager, k kind) error {
	kindName, warm := k.keyOf(types.NamespacedName{}).kind, true
	err := ctrl.NewControllerManagedBy(mgr).Named("ipam-"+kindName).
		Watches(k.newObject(), &pendingFirst{}, builder.WithPredicates(specChanged())).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, EnableWarmup: &warm}).
		WatchesRawSource(r.queues.tapQueue(func(q queue) { r.queues.claims[kindName] = q })).
		Complete(reconcile.Func(func(ctx context.Context, q reconcile.Request) (reconcile.Result, error) {
			return r.reconcileClaim(ctx, k, q.NamespacedName)
		}))
	if err != nil {
		return fmt.Errorf("watch claims: %w", err)
	}
	return nil
}

// AddContract serves the Cluster API's kinds from now on, which were installed after the operator started.
func (r *Reconciler) AddContract(mgr ctrl.Manager, version string) error {
	k := contract{version}
	r.serving.Lock()
	r.served = append(r.served, k)
	r.serving.Unlock()
	if err := r.followObjects(mgr.GetCache(), contractFollowed(r)); err != nil {
		return err
	}
	return r.watchClaims(mgr, k)
}

// specChanged leaves out updates of the status, which this controller writes itself, unless the address is taken out of it.
func specChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		a, b := e.ObjectOld, e.ObjectNew
		return a.GetGeneration() != b.GetGeneration() || a.GetUID() != b.GetUID() || lostAddress(a, b) ||
			(a.GetDeletionTimestamp() == nil) != (b.GetDeletionTimestamp() == nil) ||
			!equality.Semantic.DeepEqual(a.GetAnnotations(), b.GetAnnotations()) ||
			!equality.Semantic.DeepEqual(a.GetLabels(), b.GetLabels()) ||
			!equality.Semantic.DeepEqual(a.GetFinalizers(), b.GetFinalizers())
	}}
}

func lostAddress(before, after client.Object) bool {
	switch a := after.(type) {
	case *metal3.IPClaim:
		b := before.(*metal3.IPClaim)
		return !equality.Semantic.DeepEqual(a.Status.Address, b.Status.Address) && b.Status.Address != nil
	case *capi.IPAddressClaim:
		was := before.(*capi.IPAddressClaim).Status.AddressRef
		return a.Status.AddressRef != was && was.Name != ""
	}
	return false
}

// pendingFirst enqueues claims. Of those that exist at the start, claims without an address go before the many that have one.
type pendingFirst struct {
	handler.EnqueueRequestForObject
}

// Create implements handler.EventHandler: without the low priority of the initial list.
func (h *pendingFirst) Create(ctx context.Context, e event.CreateEvent, to queue) {
	if e.IsInInitialList && !hasAddress(e.Object) {
		to.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)})
		return
	}
	h.EnqueueRequestForObject.Create(ctx, e, to)
}

func hasAddress(o client.Object) bool {
	switch c := o.(type) {
	case *metal3.IPClaim:
		return c.Status.Address != nil
	case *capi.IPAddressClaim:
		return c.Status.AddressRef.Name != ""
	}
	return false
}

// ledgerHandlers is what the ledger follows; nil where a list is begun only, so that all are read side by side before the manager starts.
func (r *Reconciler) ledgerHandlers(withContract bool) map[client.Object]toolscache.ResourceEventHandler {
	handlers := map[client.Object]toolscache.ResourceEventHandler{
		&metal3.IPPool{}: nil, &metal3.IPClaim{}: nil,
		&lockv1.AddressLock{}: handleObject(r.lockChanged, r.lockGone),
		&metal3.IPAddress{}: handleObject(func(o *metal3.IPAddress) { r.addressSeen(native{}.readAddress(o)) },
			func(o *metal3.IPAddress) { r.addressGone(native{}.readAddress(o)) }),
	}
	if withContract {
		maps.Copy(handlers, contractFollowed(r))
	}
	return handlers
}

// contractFollowed is what the ledger follows of the Cluster API's kinds.
func contractFollowed(r *Reconciler) map[client.Object]toolscache.ResourceEventHandler {
	return map[client.Object]toolscache.ResourceEventHandler{
		&capi.IPAddressClaim{}: nil,
		&capi.IPAddress{}: handleObject(func(o *capi.IPAddress) { r.addressSeen(contract{}.readAddress(o)) },
			func(o *capi.IPAddress) { r.addressGone(contract{}.readAddress(o)) }),
	}
}

// followObjects keeps the ledger up to date with locks and address objects.
func (r *Reconciler) followObjects(from cache.Cache, handlers map[client.Object]toolscache.ResourceEventHandler) error {
	for what, handle := range handlers {
		informer, err := from.GetInformer(context.Background(), what, cache.BlockUntilSynced(false))
		if err == nil && handle != nil {
			_, err = informer.AddEventHandler(handle)
		}
		if err != nil {
			return fmt.Errorf("watch %T: %w", what, err)
		}
	}
	return nil
}

// handleObject calls one function for an object as it is now, another when it is gone.
func handleObject[T client.Object](seen, gone func(T)) toolscache.ResourceEventHandlerFuncs {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { seen(o.(T)) },
		UpdateFunc: func(_, o any) { seen(o.(T)) },
		DeleteFunc: func(o any) {
			if last, unknown := o.(toolscache.DeletedFinalStateUnknown); unknown {
				o = last.Obj
			}
			if o, ok := o.(T); ok {
				gone(o)
			}
		},
	}
}

// loadLedger fills the ledger from the caches before the first reconciliation; the watches keep it up to date from then on.
func (r *Reconciler) loadLedger(ctx context.Context) error {
	r.loading.Lock()
	defer r.loading.Unlock()
	if r.loaded {
		return nil
	}
	if err := r.learnLeased(ctx); err != nil {
		return err
	}
	locks, pools := &lockv1.AddressLockList{}, &metal3.IPPoolList{}
	if err := r.Client.List(ctx, locks, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list locks: %w", err)
	}
	if err := r.Client.List(ctx, pools); err != nil {
		return fmt.Errorf("list pools: %w", err)
	}
	for i := range locks.Items {
		r.ledger.recordLock(&locks.Items[i])
	}
	for i := range pools.Items {
		r.ledger.enrollPool(&pools.Items[i])
	}
	for i := range pools.Items {
		if spec, err := kinds.Spec(&pools.Items[i]); err == nil {
			_, _ = r.ledger.setPool(&pools.Items[i], spec) // its own reconciliation reports what is wrong
		}
	}
	uids := map[key]types.UID{}
	for _, k := range r.claimKinds() {
		claims, addresses, err := k.listAll(ctx, r.Client)
		if err != nil {
			return err
		}
		for _, c := range claims {
			uids[c.key] = c.GetUID()
		}
		for _, h := range addresses {
			r.noteAddress(h)
		}
	}
	// Claims that were deleted, or made again, while no replica watched.
	for k, owners := range r.ledger.ownersOf() {
		if len(owners) > 1 || owners[0] != uids[k] {
			r.queues.addClaim(k)
		}
	}
	r.loaded = true
	return nil
}

// isLoaded says that the ledger is loaded. Events before that are in the cache that it is loaded from.
func (r *Reconciler) isLoaded() bool {
	r.loading.Lock()
	defer r.loading.Unlock()
	return r.loaded
}

// lockChanged follows what another replica, or an administrator, did to a lock.
func (r *Reconciler) lockChanged(lock *lockv1.AddressLock) {
	if !r.isLoaded() {
		return
	}
	own := r.ledger.isPromised(lock)
	if !r.ledger.recordLock(lock) {
		return
	}
	if lock.Spec.Claim != nil && !own {
		r.queues.addClaim(keyOf(lock.Spec.Claim))
	}
	if lock.Spec.State == lockv1.LockHeld {
		r.requeuePools(lock)
		return
	}
	r.requeueAfterRelease(lock)
}

func (r *Reconciler) lockGone(lock *lockv1.AddressLock) {
	if !r.isLoaded() || !r.ledger.removeLock(lock) {
		return
	}
	if lock.Spec.Claim != nil {
		r.queues.addClaim(keyOf(lock.Spec.Claim))
	}
	r.requeueAfterRelease(lock)
}

func (r *Reconciler) addressSeen(h held) {
	if r.isLoaded() && h.GetDeletionTimestamp() == nil {
		r.noteAddress(h)
	}
}

// noteAddress requeues the claim of an address object that no lock of the claim guards.
func (r *Reconciler) noteAddress(h held) {
	if r.ledger.recordAddress(h) {
		r.queues.addClaim(h.claim)
	}
}

func (r *Reconciler) addressGone(h held) {
	if r.isLoaded() {
		shared := r.ledger.removeAddress(h)
		r.queues.addClaim(h.claim)
		r.wakeEach(shared)
	}
}

func (r *Reconciler) emitEvent(on runtime.Object, severity, reason, action, note string) {
	r.Events.Eventf(on, nil, severity, reason, action, "%s", status.ClipNote(note))
}
