// Package netenactment enacts the policies of nmstate.io on its own node and reports what became of each.
//
//	observe -> judge -> act -> report
//
// observe.go reads everything a decision rests on: the policies, this node's enactments, and what the node has on record.
// judge.go compares the records with the boot and the stateroot that run, and decides on each policy. act.go starts one enactment
// at a time, through lca-cli. report.go computes the status of an enactment, which is written with one patch and only if it
// changed, and publishes events. What the cache does not have yet, package latest adds.
//
// The operator role decides when a node may start (Granted); this controller never starts without. Nothing that a restart
// must not lose is kept in memory: request, journal, outcome and record are on the node.
package netenactment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ktypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/caches"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/latest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/nodejob"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/requeue"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

type enactment = nmstatev1beta1.NodeNetworkConfigurationEnactment

// Network is what the controller needs of the node's network.
type Network interface {
	Observe(ctx context.Context) (netstate.Document, error)
	Changes(ctx context.Context) (<-chan struct{}, error)
}

// Deployments are the systems that the node can boot.
type Deployments interface {
	List(ctx context.Context) ([]host.Deployment, error)
}

// Node is what the controller needs of the node. The agent only observes the network: lca-cli changes it.
type Node struct {
	Files      host.Files
	Units      host.Units
	Transients host.Transients
	Network    Network
	Boots      operation.Boots
	// Trials are the changes of other programs that an enactment waits for; nil leaves the wait unexplained.
	Trials host.NetworkTrials
	// Deployments tell in which stateroot the agent runs; a plain node has none.
	Deployments Deployments
}

// Reconciler reconciles all policies on its own node, in one pass.
type Reconciler struct {
	// Client writes; Cache holds the own Node's metadata, the policies and the node's enactments; Reader reads past it.
	Client client.Client
	Cache  client.Reader
	Reader client.Reader
	Log    *slog.Logger

	NodeName string
	Node     Node
	Metrics  *Metrics
	Version  string

	// Now is the clock, Random the source of operation ids.
	Now    func() time.Time
	Random func() uint16
	// OperatorLease is the lease that a running operator renews; an empty name leaves unknown whether one runs.
	OperatorLease ktypes.NamespacedName
	// InstallCLI puts the agent's lca-cli on the node; nil leaves the node's own.
	InstallCLI nodejob.Installer

	running     nodejob.Backoff
	corrections map[string]*nodejob.Backoff
	installed   bool
	settled     bool
	handler     handlerCheck
	// stateroot is the booted one, once it is known: it does not change while the agent runs.
	stateroot *string
	// differsSince is since when this boot is known to run without a policy's document.
	differsSince map[string]time.Time
	// changedSince is since when what a failed policy depends on is known to have changed.
	changedSince map[string]time.Time
	// reportedLost is of which boot a policy was reported as lost.
	reportedLost map[string]string
	// refused are the policies that cannot be reported on.
	refused refusals
	// trial is what the enactment under way waits for.
	trial trialWatch
	// operator is what was seen of the operator's lease.
	operator operatorWatch
	// latest is what the cache does not have yet.
	latest latest.Objects[enactment, *enactment]
}

const (
	// whileRunning is how often the journal of an enactment under way is read.
	whileRunning = 200 * time.Millisecond
	// whileHandled is how often the agent looks whether kubernetes-nmstate has left the node.
	whileHandled = time.Minute
	afterWrite   = 100 * time.Millisecond
)

// Reconcile brings every policy one step forward.
func (r *Reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	s, err := r.observeNode(ctx)
	if s == nil || err != nil {
		return reconcile.Result{}, err
	}
	if handled, err := r.handledByOther(ctx, s); handled || err != nil {
		return reconcile.Result{RequeueAfter: whileHandled}, err
	}
	if err := r.prepareNode(ctx, s); err != nil {
		return reconcile.Result{}, err
	}
	again, err := r.processPolicies(ctx, s)
	if latest.IsRefusal(err) {
		return reconcile.Result{RequeueAfter: afterWrite}, nil
	}
	return reconcile.Result{RequeueAfter: requeue.Sooner(again, r.latest.NextRead(s.now))}, err
}

// processPolicies judges every policy, starts at most one enactment, and reports all. The result is when to observe again; 0 is
// at the next event.
func (r *Reconciler) processPolicies(ctx context.Context, s *observation) (time.Duration, error) {
	var again time.Duration
	if s.request != nil {
		wait, err := r.restartUnit(ctx, s)
		if err != nil {
			return 0, err
		}
		again = wait
	}
	var unknown error
	for _, v := range s.inTurn() {
		wait, err := r.compareRecord(ctx, s, v)
		if err != nil { // of this policy alone; an edit of it makes another record
			unknown = errors.Join(unknown, fmt.Errorf("compare the record of policy %s with the network: %w", v.name, err))
		}
		again = requeue.Sooner(again, wait)
		if wait, err = r.processPolicy(ctx, s, v); isRefusedWrite(err) {
			wait = r.reportRefusal(ctx, v, err, s.now)
		} else if err != nil {
			return 0, err
		}
		again = requeue.Sooner(again, wait)
	}
	again = requeue.Sooner(again, r.publishRefusals(ctx, s))
	if unknown != nil && again > 0 { // an error would have the other policies wait longer and longer
		r.Log.Warn("a policy cannot be judged", "error", unknown)
		return again, nil
	}
	return again, unknown
}

// processPolicy judges one policy, starts its enactment if it is due, and reports it.
func (r *Reconciler) processPolicy(ctx context.Context, s *observation, v *policyView) (again time.Duration, err error) {
	j := decide(v, s)
	if j.state == condition.Available {
		r.checkDrift(ctx, s, v, &j)
	}
	if j.depends {
		r.checkDependencies(ctx, s, v, &j)
	}
	if j.ready && s.request == nil {
		if wait := j.due.Sub(s.now); wait > 0 {
			again = wait
		} else if err := r.startEnactment(ctx, s, v, &j); err != nil {
			return 0, fmt.Errorf("enact policy %s: %w", v.name, err)
		}
	}
	if j.state == condition.Progressing {
		r.describeTrial(ctx, s, v, &j)
	}
	if j.state == condition.Pending {
		again = requeue.Sooner(again, r.explainPending(ctx, s, v, &j))
	}
	if s.request != nil {
		again = requeue.Sooner(again, whileRunning)
	}
	return again, r.reportPolicy(ctx, s, v, j)
}

const (
	// networkSettles is how long a change of the network may go on before it counts as drift: a reapplied profile takes several
	// steps. It is within the second in which drift is reported.
	networkSettles = 400 * time.Millisecond
	rewatch        = time.Second
)

// SetupWithManager starts the controller over the cache of what concerns the node. Every event has the same key: one pass
// serves all policies, because a node enacts one at a time.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, own cache.Cache) error {
	c, err := controller.NewUnmanaged("netenactment", controller.Options{
		Reconciler: r, MaxConcurrentReconciles: 1, SkipNameValidation: new(true), // a load test runs the agents of many nodes
		CacheSyncTimeout: mgr.GetControllerOptions().CacheSyncTimeout,
		RateLimiter:      workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](200*time.Millisecond, 30*time.Second),
	})
	if err != nil {
		return fmt.Errorf("make the controller: %w", err)
	}
	for _, s := range []source.Source{
		source.Kind(own, &nmstatev1.NodeNetworkConfigurationPolicy{}, enqueueNode[*nmstatev1.NodeNetworkConfigurationPolicy](r.NodeName)),
		source.Kind(own, &nmstatev1beta1.NodeNetworkConfigurationEnactment{},
			enqueueNode[*nmstatev1beta1.NodeNetworkConfigurationEnactment](r.NodeName)),
		source.Kind(own, caches.NodeMetadata(), enqueueNode[*metav1.PartialObjectMetadata](r.NodeName)),
		source.Func(r.watchNetwork),
	} {
		if err := c.Watch(s); err != nil {
			return fmt.Errorf("watch: %w", err)
		}
	}
	if err := mgr.Add(c); err != nil {
		return fmt.Errorf("add the controller: %w", err)
	}
	return nil
}

func enqueueNode[T client.Object](node string) handler.TypedEventHandler[T, reconcile.Request] {
	return handler.TypedEnqueueRequestsFromMapFunc(func(context.Context, T) []reconcile.Request {
		return []reconcile.Request{requestFor(node)}
	})
}

// watchNetwork feeds the changes that the node reports into the queue, until ctx ends.
func (r *Reconciler) watchNetwork(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	go func() {
		for ctx.Err() == nil {
			if err := r.enqueueChanges(ctx, queue); err != nil {
				r.Log.Warn("the network cannot be watched for drift", "error", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(rewatch):
			}
		}
	}()
	return nil
}

func (r *Reconciler) enqueueChanges(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	changes, err := r.Node.Network.Changes(ctx)
	if err != nil {
		return fmt.Errorf("watch the network: %w", err)
	}
	for range changes {
		queue.AddAfter(requestFor(r.NodeName), networkSettles)
	}
	return nil
}

func requestFor(node string) reconcile.Request {
	return reconcile.Request{NamespacedName: ktypes.NamespacedName{Name: node}}
}
