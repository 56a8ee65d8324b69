package netpolicy

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
)

// writers is how many enactments of a policy are written at a time.
const writers = 8

// applyDecision writes what was decided into enactments.
func (r *Reconciler) applyDecision(
	ctx context.Context, policy *nmstatev1.NodeNetworkConfigurationPolicy, seen *observation, d rollout.Decision,
) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for _, names := range [][]string{d.Grant, d.Adopt} {
		for _, node := range names {
			group.Go(func() error { return r.grantNode(ctx, policy, seen.enactments[node]) })
		}
	}
	for _, n := range seen.nodes {
		group.Go(func() error { return r.mirrorState(ctx, policy, n, seen.enactments[n.Name], seen.unreadable[n.Name]) })
	}
	for _, node := range d.Abort {
		group.Go(func() error { return r.abortNode(ctx, policy, seen.enactments[node]) })
	}
	return group.Wait()
}

// grantNode lets a node start. That it did is remembered until the cache shows it, lest the next decision start another in its place.
func (r *Reconciler) grantNode(
	ctx context.Context,
	policy *nmstatev1.NodeNetworkConfigurationPolicy,
	e *v1beta1.NodeNetworkConfigurationEnactment,
) error {
	token := v1beta1.Grant(policy)
	r.granted.recordGrant(e.UID, token)
	if err := r.annotateEnactment(ctx, e.Name, map[string]string{v1beta1.GrantAnnotation: token}); err != nil {
		// It may have been written all the same: read past the cache before the next decision.
		r.granted.doubtGrant(e.UID)
		return fmt.Errorf("grant policy %s to node %s: %w", policy.Name, e.Labels[nmstatev1.NodeLabel], err)
	}
	r.Metrics.grants.Inc()
	return nil
}

// abortNode tells a node that it will not start in this generation.
func (r *Reconciler) abortNode(
	ctx context.Context,
	policy *nmstatev1.NodeNetworkConfigurationPolicy,
	e *v1beta1.NodeNetworkConfigurationEnactment,
) error {
	after := e.DeepCopy()
	after.Status.Conditions = condition.Summarize(
		condition.SetEnactment(e.Status.Conditions, condition.Aborted, condition.MessageAborted, r.Now()), r.Now())
	patch := client.MergeFromWithOptions(e.DeepCopy(), client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, after, patch); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("abort policy %s on node %s: %w", policy.Name, e.Labels[nmstatev1.NodeLabel], err)
	}
	return nil
}

func (r *Reconciler) annotateEnactment(ctx context.Context, enactment string, annotations map[string]string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		return fmt.Errorf("format annotations: %w", err)
	}
	e := &v1beta1.NodeNetworkConfigurationEnactment{}
	e.Name = enactment
	return client.IgnoreNotFound(r.Client.Patch(ctx, e, client.RawPatch(types.MergePatchType, patch)))
}

// grants are the grants that were written and may not be in the cache yet, by the enactment's UID.
type grants struct {
	mu     sync.Mutex
	tokens map[types.UID]string
	// doubted are the enactments of which it is unknown whether their grant was written.
	doubted map[types.UID]bool
	// unseen are the enactments that the operator that led before granted, which the cache may lack, by policy: their names.
	unseen map[string]map[types.UID]string
	// learned: the grants of the operator that led before are known.
	learned bool
}

func newGranted() grants {
	return grants{tokens: map[types.UID]string{}, doubted: map[types.UID]bool{}, unseen: map[string]map[types.UID]string{}}
}

// isLoaded says that the grants of before are known: nothing may be granted without them.
func (g *grants) isLoaded() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.learned
}

// loadGrants takes over what another replica has granted, which the cache may not have, from what the API server has.
func (g *grants) loadGrants(all []metav1.PartialObjectMetadata) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.learned {
		return
	}
	for i := range all {
		token, own := all[i].Annotations[v1beta1.GrantAnnotation], g.tokens[all[i].UID]
		if token == "" || own != "" {
			continue
		}
		g.tokens[all[i].UID] = token
		policy := all[i].Labels[nmstatev1.PolicyLabel]
		if g.unseen[policy] == nil {
			g.unseen[policy] = map[types.UID]string{}
		}
		g.unseen[policy][all[i].UID] = all[i].Name
	}
	g.learned = true
}

// missingFrom are the names of granted enactments of a policy that are not among those of the cache.
func (g *grants) missingFrom(policy string, cached []v1beta1.NodeNetworkConfigurationEnactment) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range cached {
		delete(g.unseen[policy], cached[i].UID)
	}
	if len(g.unseen[policy]) == 0 {
		delete(g.unseen, policy)
	}
	return slices.Sorted(maps.Values(g.unseen[policy]))
}

func (g *grants) recordGrant(enactment types.UID, token string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tokens[enactment] = token
}

// doubtGrant forgets a grant of which it is unknown whether it was written: that enactment is read past the cache.
func (g *grants) doubtGrant(enactment types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.tokens, enactment)
	g.doubted[enactment] = true
}

func (g *grants) isDoubted(enactment types.UID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.doubted[enactment]
}

// resolveDoubt ends a doubt with the grant that the API server has; empty for none.
func (g *grants) resolveDoubt(enactment types.UID, token string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.doubted, enactment)
	if token != "" {
		g.tokens[enactment] = token
	}
}

// isGranted reports a grant that the enactment may not show yet. One that it shows, or that is void, is forgotten.
func (g *grants) isGranted(enactment types.UID, token string, shown bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	have, is := g.tokens[enactment]
	if is && (shown || have != token) {
		delete(g.tokens, enactment)
	}
	return shown || is && have == token
}
