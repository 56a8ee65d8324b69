package netpolicy

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
)

// resolveValues claims the addresses that the policy's nodes take from pools, and publishes those that are allocated in the
// enactments, before the nodes may start. Labels and annotations of the Node are read by its agent.
func (r *Reconciler) resolveValues(ctx context.Context, policy *nmstatev1.NodeNetworkConfigurationPolicy, seen *observation) error {
	if policy.DeletionTimestamp != nil {
		return nil
	}
	for i := range seen.nodes {
		n := &seen.nodes[i]
		e := seen.enactments[n.Name]
		values, complete, used := map[string]string{}, true, map[types.NamespacedName]bool{}
		for _, v := range policy.Spec.TemplateValues {
			if v.Address == nil || e == nil {
				continue
			}
			given, err := r.addressFor(ctx, policy, e, n.Name, v, used)
			if err != nil {
				return err
			}
			complete = complete && given != nil
			for key, value := range given {
				values[key] = value
			}
		}
		n.Unresolved = n.Unresolved || !complete
		if len(values) == 0 || !complete {
			continue
		}
		if err := r.publishValues(ctx, e, values); err != nil {
			return err
		}
		if err := r.releaseUnused(ctx, policy, e, used); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) publishValues(ctx context.Context, e *v1beta1.NodeNetworkConfigurationEnactment, values map[string]string) error {
	text, err := json.Marshal(values)
	if err != nil {
		return fmt.Errorf("format the template values: %w", err)
	}
	if e.Annotations[v1beta1.ValuesAnnotation] == string(text) {
		return nil
	}
	if err := r.annotateEnactment(ctx, e.Name, map[string]string{v1beta1.ValuesAnnotation: string(text)}); err != nil {
		return fmt.Errorf("publish the template values of enactment %s: %w", e.Name, err)
	}
	return nil
}

// addressFor is what the node's claim was given, which is then one of those used; nil as long as it has nothing. The claim belongs to the
// enactment, and goes with it.
func (r *Reconciler) addressFor(
	ctx context.Context, policy *nmstatev1.NodeNetworkConfigurationPolicy, e *v1beta1.NodeNetworkConfigurationEnactment,
	node string, v nmstatev1.TemplateValue, used map[types.NamespacedName]bool,
) (map[string]string, error) {
	if !r.later.claims.Load() {
		return nil, nil
	}
	claim, name, err := r.claimOf(ctx, policy, e, node, v)
	switch {
	case err != nil:
		return nil, err
	case claim == nil:
		return nil, r.createClaim(ctx, name, policy, e, v.Address.Pool)
	case !ownedBy(claim, e) || claim.DeletionTimestamp != nil:
		return nil, nil // of an earlier enactment: it goes, with its address, and then another is claimed
	case claim.Status.Address == nil:
		return nil, nil
	}
	used[name] = true
	address := &metal3.IPAddress{}
	where := types.NamespacedName{Namespace: name.Namespace, Name: claim.Status.Address.Name}
	if err := r.Client.Get(ctx, where, address); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	given := map[string]string{v.Name: string(address.Spec.Address), v.Name + "-prefix": strconv.Itoa(address.Spec.Prefix)}
	if address.Spec.Gateway != nil {
		given[v.Name+"-gateway"] = string(*address.Spec.Gateway)
	}
	return given, nil
}

// claimOf finds the claim of a value and its name; nil if there is none. The node may still use the address of a pool that the policy
// named before: the claim of another pool has another name, with the pool, and both stay until the node has the new address.
func (r *Reconciler) claimOf(
	ctx context.Context, policy *nmstatev1.NodeNetworkConfigurationPolicy, e *v1beta1.NodeNetworkConfigurationEnactment,
	node string, v nmstatev1.TemplateValue,
) (*metal3.IPClaim, types.NamespacedName, error) {
	own := types.NamespacedName{Namespace: v.Address.Namespace, Name: policy.Name + "." + v.Name + "." + node}
	withPool := types.NamespacedName{Namespace: own.Namespace, Name: policy.Name + "." + v.Name + "." + v.Address.Pool + "." + node}
	claim, err := r.readClaim(ctx, withPool)
	if err != nil || claim != nil && ownedBy(claim, e) && claim.DeletionTimestamp == nil {
		return claim, withPool, err
	}
	of, err := r.readClaim(ctx, own)
	if err != nil || of == nil || !ownedBy(of, e) || of.DeletionTimestamp != nil || of.Spec.Pool.Name == v.Address.Pool {
		return of, own, err
	}
	return claim, withPool, nil
}

// readClaim is nil for a claim that does not exist.
func (r *Reconciler) readClaim(ctx context.Context, name types.NamespacedName) (*metal3.IPClaim, error) {
	claim := &metal3.IPClaim{}
	err := r.Client.Get(ctx, name, claim)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read claim %s: %w", name, err)
	}
	return claim, nil
}

// ownedBy says that a claim is of this very enactment, not of one that had its name.
func ownedBy(claim *metal3.IPClaim, e *v1beta1.NodeNetworkConfigurationEnactment) bool {
	return slices.ContainsFunc(claim.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == e.UID })
}

// releaseUnused releases the addresses of an enactment that are not used any longer, once its node has the document with the others.
func (r *Reconciler) releaseUnused(
	ctx context.Context, policy *nmstatev1.NodeNetworkConfigurationPolicy, e *v1beta1.NodeNetworkConfigurationEnactment,
	used map[types.NamespacedName]bool,
) error {
	if !isAvailable(policy, e) {
		return nil
	}
	claims := &metal3.IPClaimList{}
	if err := r.Client.List(ctx, claims, client.MatchingLabels{nmstatev1.PolicyLabel: policy.Name}); err != nil {
		return fmt.Errorf("list the claims of policy %s: %w", policy.Name, err)
	}
	for i := range claims.Items {
		c := &claims.Items[i]
		if used[client.ObjectKeyFromObject(c)] || !ownedBy(c, e) || c.DeletionTimestamp != nil {
			continue
		}
		if now, err := r.availableNow(ctx, policy, e); err != nil || !now {
			return err
		}
		if err := r.Client.Delete(ctx, c, client.Preconditions{UID: &c.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("release claim %s/%s of pool %s: %w", c.Namespace, c.Name, c.Spec.Pool.Name, err)
		}
	}
	return nil
}

// isAvailable says that the node has the policy's document as it is now.
func isAvailable(policy *nmstatev1.NodeNetworkConfigurationPolicy, e *v1beta1.NodeNetworkConfigurationEnactment) bool {
	state, _ := condition.Of(e.Status.Conditions)
	return state == condition.Available && e.Status.PolicyGeneration == policy.Generation
}

// availableNow asks the API server, since a cache may be of before an edit of the policy.
func (r *Reconciler) availableNow(
	ctx context.Context, policy *nmstatev1.NodeNetworkConfigurationPolicy, e *v1beta1.NodeNetworkConfigurationEnactment,
) (bool, error) {
	p, now := &nmstatev1.NodeNetworkConfigurationPolicy{}, &v1beta1.NodeNetworkConfigurationEnactment{}
	if err := r.Reader.Get(ctx, client.ObjectKeyFromObject(policy), p); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	if err := r.Reader.Get(ctx, client.ObjectKeyFromObject(e), now); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return p.UID == policy.UID && p.Generation == policy.Generation && now.UID == e.UID && isAvailable(p, now), nil
}

func (r *Reconciler) createClaim(
	ctx context.Context, name types.NamespacedName, policy *nmstatev1.NodeNetworkConfigurationPolicy,
	e *v1beta1.NodeNetworkConfigurationEnactment, pool string,
) error {
	claim := &metal3.IPClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: name.Namespace, Name: name.Name, Labels: map[string]string{nmstatev1.PolicyLabel: policy.Name},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1beta1.GroupVersion.String(), Kind: "NodeNetworkConfigurationEnactment", Name: e.Name, UID: e.UID,
		}},
	}}
	claim.Spec.Pool = metal3.ObjectReference{Name: pool}
	if err := r.Client.Create(ctx, claim); err != nil && !apierrors.IsAlreadyExists(err) { // the cache is behind
		return fmt.Errorf("claim an address of pool %s/%s for %s: %w", name.Namespace, pool, e.Name, err)
	}
	return nil
}
