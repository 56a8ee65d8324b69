package netpolicy

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
)

// pruneInterval is how often what is remembered of nodes is compared with the nodes; what is remembered of a policy goes with it.
const pruneInterval = 10 * time.Minute

func (r *Reconciler) pruneNowAndThen(ctx context.Context) error {
	r.mu.Lock()
	due := !r.granted.isLoaded() || r.Now().Sub(r.pruned) >= pruneInterval
	if due {
		r.pruned = r.Now()
	}
	r.mu.Unlock()
	if !due {
		return nil
	}
	return r.pruneState(ctx)
}

// pruneState forgets what is gone, and learns at first what was granted before. Grants are not trusted to the cache; one list for all
// policies serves, for each costs the API server a look at every enactment there is.
func (r *Reconciler) pruneState(ctx context.Context) error {
	enactments, err := r.enactmentsNow(ctx)
	if err != nil {
		return err
	}
	r.granted.loadGrants(enactments)
	r.granted.dropEnactments(enactments)
	return r.prunePolicies(ctx)
}

// prunePolicies forgets policies and rendered MachineConfigs that the cache does not have any more.
func (r *Reconciler) prunePolicies(ctx context.Context) error {
	policies, err := r.policyUIDs(ctx)
	if err != nil {
		return err
	}
	nodes := &corev1.NodeList{}
	if err := r.Client.List(ctx, nodes, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	rendered := map[string]bool{}
	for i := range nodes.Items {
		rendered[nodes.Items[i].Annotations[currentConfigAnnotation]] = true
	}
	r.mu.Lock()
	keepOnly(r.reported, policies)
	keepOnly(r.documents, policies)
	r.mu.Unlock()
	r.pace.dropPolicies(policies)
	r.deliveries.dropUnused(policies, rendered)
	return nil
}

// policyUIDs are those of the cache, where a policy that is reconciled is.
func (r *Reconciler) policyUIDs(ctx context.Context) (map[types.UID]bool, error) {
	list := &nmstatev1.NodeNetworkConfigurationPolicyList{}
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list policies: %w", err)
	}
	found := make(map[types.UID]bool, len(list.Items))
	for i := range list.Items {
		found[list.Items[i].UID] = true
	}
	return found, nil
}

// enactmentsNow are the metadata of all enactments, read past the cache.
func (r *Reconciler) enactmentsNow(ctx context.Context) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1beta1.GroupVersion.WithKind("NodeNetworkConfigurationEnactmentList"))
	if err := r.Reader.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list enactments: %w", err)
	}
	return list.Items, nil
}

func keepOnly[V any](all map[types.UID]V, there map[types.UID]bool) {
	maps.DeleteFunc(all, func(uid types.UID, _ V) bool { return !there[uid] })
}

func (g *grants) dropEnactments(enactments []metav1.PartialObjectMetadata) {
	there := make(map[types.UID]bool, len(enactments))
	for i := range enactments {
		there[enactments[i].UID] = true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	keepOnly(g.tokens, there)
	keepOnly(g.doubted, there)
	for _, names := range g.unseen {
		keepOnly(names, there)
	}
}

func (d *deliveries) dropUnused(policies map[types.UID]bool, rendered map[string]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.known, func(k delivery, _ bool) bool { return !policies[k.policy] || !rendered[k.rendered] })
}
