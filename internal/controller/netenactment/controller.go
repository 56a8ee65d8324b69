// Package netenactment enacts the policies of nmstate.io on its own node and reports what became of each.
//
//	observe -> judge -> act -> report
//
// scene.go reads everything a decision rests on: the policies, this node's enactments, and what the node has on record.
// standing.go compares the records with the boot and the stateroot that run.
// state.go derives the state of each policy, without side effects. act.go starts one enactment at a time, through lca-cli.
// project.go computes the status of an enactment, which is written with one patch and only if it changed. latest.go has what
// the cache does not have yet.
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

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/nodejob"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/requeue"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

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
	// InstallCLI puts the agent's lca-cli on the node; nil leaves the node's own.
	InstallCLI nodejob.Installer

	running   nodejob.Backoff
	mending   map[string]*nodejob.Backoff
	installed bool
	settled   bool
	handler   handlerCheck
	// stateroot is the booted one, once it is known: it does not change while the agent runs.
	stateroot *string
	// differs is since when this boot is known to run without a policy's document.
	differs map[string]time.Time
	// lost is of which boot a policy was reported as lost.
	lost map[string]string
	// latest is what the cache does not have yet.
	latest latest
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
	s, err := r.observe(ctx)
	if s == nil || err != nil {
		return reconcile.Result{}, err
	}
	if handled, err := r.handledByOther(ctx, s); handled || err != nil {
		return reconcile.Result{RequeueAfter: whileHandled}, err
	}
	if err := r.prepareNode(ctx, s); err != nil {
		return reconcile.Result{}, err
	}
	again, err := r.proceed(ctx, s)
	if behind(err) {
		return reconcile.Result{RequeueAfter: afterWrite}, nil
	}
	return reconcile.Result{RequeueAfter: requeue.Sooner(again, r.latest.due(s.now))}, err
}

// proceed judges every policy, starts at most one enactment, and reports all. The result is when to observe again; 0 is
// at the next event.
func (r *Reconciler) proceed(ctx context.Context, s *scene) (time.Duration, error) {
	var again time.Duration
	if s.request != nil {
		wait, err := r.resume(ctx, s)
		if err != nil {
			return 0, err
		}
		again = wait
	}
	var unknown error
	for _, v := range s.views {
		wait, err := r.stand(ctx, s, v)
		if err != nil { // of this policy alone; an edit of it makes another record
			unknown = errors.Join(unknown, fmt.Errorf("compare the record of policy %s with the network: %w", v.name, err))
		}
		again = requeue.Sooner(again, wait)
		if wait, err = r.advance(ctx, s, v); err != nil {
			return 0, err
		}
		again = requeue.Sooner(again, wait)
	}
	if unknown != nil && again > 0 { // an error would have the other policies wait longer and longer
		r.Log.Warn("a policy cannot be judged", "error", unknown)
		return again, nil
	}
	return again, unknown
}

// advance judges one policy, starts its enactment if it is due, and reports it.
func (r *Reconciler) advance(ctx context.Context, s *scene, v *view) (again time.Duration, err error) {
	j := judge(v, s)
	if j.state == condition.Available {
		r.drift(ctx, s, v, &j)
	}
	if j.ready && s.request == nil {
		if wait := j.due.Sub(s.now); wait > 0 {
			again = wait
		} else if err := r.start(ctx, s, v, &j); err != nil {
			return 0, fmt.Errorf("enact policy %s: %w", v.name, err)
		}
	}
	if s.request != nil {
		again = requeue.Sooner(again, whileRunning)
	}
	return again, r.report(ctx, s, v, j)
}
