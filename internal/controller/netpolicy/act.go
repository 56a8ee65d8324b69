package netpolicy

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
)

// writers is how many enactments of a policy are written at a time.
const writers = 8

// act writes what was decided into enactments.
func (r *Reconciler) act(ctx context.Context, policy *nmstatev1.NodeNetworkConfigurationPolicy, seen *observed, d rollout.Decision) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for _, names := range [][]string{d.Grant, d.Adopt} {
		for _, node := range names {
			group.Go(func() error { return r.grant(ctx, policy, seen.enactments[node]) })
		}
	}
	for _, n := range seen.nodes {
		group.Go(func() error { return r.mirror(ctx, policy, n, seen.enactments[n.Name], seen.unreadable[n.Name]) })
	}
	for _, node := range d.Abort {
		group.Go(func() error { return r.abort(ctx, policy, seen.enactments[node]) })
	}
	return group.Wait()
}

// grant lets a node start. That it did is remembered until the cache shows it, lest the next decision start another in its place.
func (r *Reconciler) grant(
	ctx context.Context,
	policy *nmstatev1.NodeNetworkConfigurationPolicy,
	e *v1beta1.NodeNetworkConfigurationEnactment,
) error {
	token := v1beta1.Grant(policy)
	r.granted.promise(e.UID, token)
	if err := r.annotate(ctx, e.Name, map[string]string{v1beta1.GrantAnnotation: token}); err != nil {
		// It may have been written all the same: read past the cache before the next decision.
		r.granted.withdraw(policy.UID, e.UID)
		return fmt.Errorf("grant policy %s to node %s: %w", policy.Name, e.Labels[nmstatev1.NodeLabel], err)
	}
	r.Metrics.grants.Inc()
	return nil
}

// abort tells a node that it will not start in this generation.
func (r *Reconciler) abort(
	ctx context.Context,
	policy *nmstatev1.NodeNetworkConfigurationPolicy,
	e *v1beta1.NodeNetworkConfigurationEnactment,
) error {
	after := e.DeepCopy()
	after.Status.Conditions = condition.SetEnactment(e.Status.Conditions, condition.Aborted, condition.MessageAborted, r.Now())
	patch := client.MergeFromWithOptions(e.DeepCopy(), client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, after, patch); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("abort policy %s on node %s: %w", policy.Name, e.Labels[nmstatev1.NodeLabel], err)
	}
	return nil
}

func (r *Reconciler) annotate(ctx context.Context, enactment string, annotations map[string]string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		return fmt.Errorf("format annotations: %w", err)
	}
	e := &v1beta1.NodeNetworkConfigurationEnactment{}
	e.Name = enactment
	return client.IgnoreNotFound(r.Client.Patch(ctx, e, client.RawPatch(types.MergePatchType, patch)))
}

// granted are the grants that were written and may not be in the cache yet, by the enactment's UID.
type granted struct {
	mu     sync.Mutex
	tokens map[types.UID]string
	// fresh policies were read past the cache by this process.
	fresh map[types.UID]bool
}

func (g *granted) promise(enactment types.UID, token string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tokens[enactment] = token
}

// withdraw forgets a grant of which it is unknown whether it was written; what the API server has is read again.
func (g *granted) withdraw(policy, enactment types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.tokens, enactment)
	delete(g.fresh, policy)
}

// promised reports a grant that the enactment may not show yet. One that it shows, or that is void, is forgotten.
func (g *granted) promised(enactment types.UID, token string, shown bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	have, is := g.tokens[enactment]
	if is && (shown || have != token) {
		delete(g.tokens, enactment)
	}
	return shown || is && have == token
}

// first reports that the policy has not been read past the cache.
func (g *granted) first(policy types.UID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.fresh[policy]
}

func (g *granted) seen(policy types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fresh[policy] = true
}
