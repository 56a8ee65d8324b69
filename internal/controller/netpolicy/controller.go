// Package netpolicy is the operator's controller of network policies (nmstate.io): it lets nodes start, maxUnavailable at a time,
// canaries first, and reports what became of a policy.
//
// It observes the nodes that a policy is for and their enactments (observe.go), has internal/netpolicy/rollout decide, writes grants and
// aborts (act.go), and projects the outcome into the policy's status (report.go). Nothing is counted in a status: every decision is
// computed from the enactments. A policy with onDelete: Revert is held by a finalizer until its nodes have reverted it (remove.go).
// admission.go refuses a document that no node could apply.
//
// internal/controller sets it up. It imports no other controller, and nothing of the host.
package netpolicy

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/requeue"
)

// Options are what the controller is given.
type Options struct {
	// Client reads from a cache and writes; Reader reads past the cache.
	Client  client.Client
	Reader  client.Reader
	Events  events.EventRecorder
	Log     *slog.Logger
	Metrics *Metrics
	Now     func() time.Time
}

// Reconciler rolls policies out.
type Reconciler struct {
	Options
	granted    grants
	peer       peer
	deliveries deliveries
	later      later
	pace       pace

	// foreign logs once that the definitions are not the product's.
	foreign sync.Once

	mu sync.Mutex
	// reported is what was last reported of each policy by an event.
	reported map[types.UID]report
	// documents are the keys of each policy's document, for the search of conflicts.
	documents map[types.UID]flattened
	// pruned is when these maps were last compared with what there is.
	pruned time.Time
}

// New makes a reconciler that knows nothing; it reads everything before its first decision.
func New(o Options) *Reconciler {
	return &Reconciler{Options: o, pace: pace{written: map[types.UID]time.Time{}},
		granted:    newGranted(),
		deliveries: deliveries{known: map[delivery]bool{}}, later: later{wake: make(chan event.GenericEvent, 2)},
		reported: map[types.UID]report{}, documents: map[types.UID]flattened{}}
}

// Reconcile brings one policy a step further.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	policy := &nmstatev1.NodeNetworkConfigurationPolicy{}
	if err := r.Client.Get(ctx, request.NamespacedName, policy); err != nil {
		if apierrors.IsNotFound(err) {
			return ctrl.Result{}, r.deleteLeftovers(ctx, request.Name)
		}
		return ctrl.Result{}, fmt.Errorf("read policy %s: %w", request.Name, err)
	}
	if changed, err := r.ensureFinalizer(ctx, policy); changed || err != nil {
		return ctrl.Result{}, err
	}
	if err := r.pruneNowAndThen(ctx); err != nil {
		return ctrl.Result{}, err
	}
	standby, err := r.peer.standbyReason(ctx, r.Reader, r.Now())
	if err != nil {
		return ctrl.Result{}, err
	}
	seen, err := r.observeNodes(ctx, policy)
	if err != nil {
		return ctrl.Result{}, err
	}
	if standby == "" {
		if err := r.resolveValues(ctx, policy, seen); err != nil {
			return ctrl.Result{}, err
		}
	}
	if policy.DeletionTimestamp != nil && len(seen.nodes) == 0 {
		return ctrl.Result{}, r.releaseReverted(ctx, policy)
	}
	return r.advancePolicy(ctx, policy, seen, standby)
}

// advancePolicy decides, acts and reports.
func (r *Reconciler) advancePolicy(
	ctx context.Context,
	policy *nmstatev1.NodeNetworkConfigurationPolicy,
	seen *observation,
	standby string,
) (ctrl.Result, error) {
	decision := decideRollout(policy, seen, standby, r.Now())
	if err := r.applyDecision(ctx, policy, seen, decision); err != nil {
		return ctrl.Result{}, err
	}
	conflicts, err := r.findConflicts(ctx, policy, seen)
	if err != nil {
		return ctrl.Result{}, err
	}
	counts, err := r.reportStatus(ctx, policy, seen, decision, conflicts)
	if err != nil {
		return ctrl.Result{}, err
	}
	result := ctrl.Result{RequeueAfter: max(counts, 0)}
	if !decision.Wake.IsZero() {
		result.RequeueAfter = requeue.Sooner(result.RequeueAfter, max(decision.Wake.Sub(r.Now()), time.Second))
	}
	if standby != "" {
		result.RequeueAfter = peerInterval
	}
	return result, nil
}
