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
)

// resolve claims the addresses that the policy's nodes take from pools, and publishes those that are allocated in the enactments, before
// the nodes may start. Labels and annotations of the Node are read by its agent.
func (r *Reconciler) resolve(ctx context.Context, policy *nmstatev1.NodeNetworkConfigurationPolicy, seen *observed) error {
	if policy.DeletionTimestamp != nil {
		return nil
	}
	for i := range seen.nodes {
		n := &seen.nodes[i]
		e := seen.enactments[n.Name]
		values, complete := map[string]string{}, true
		for _, v := range policy.Spec.TemplateValues {
			if v.Address == nil || e == nil {
				continue
			}
			given, err := r.address(ctx, policy, e, n.Name, v)
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
		if err := r.publish(ctx, e, values); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) publish(ctx context.Context, e *v1beta1.NodeNetworkConfigurationEnactment, values map[string]string) error {
	text, err := json.Marshal(values)
	if err != nil {
		return fmt.Errorf("format the template values: %w", err)
	}
	if e.Annotations[v1beta1.ValuesAnnotation] == string(text) {
		return nil
	}
	if err := r.annotate(ctx, e.Name, map[string]string{v1beta1.ValuesAnnotation: string(text)}); err != nil {
		return fmt.Errorf("publish the template values of enactment %s: %w", e.Name, err)
	}
	return nil
}

// address is what the node's claim was given; nil as long as it has nothing. The claim belongs to the enactment, and goes with it.
func (r *Reconciler) address(
	ctx context.Context, policy *nmstatev1.NodeNetworkConfigurationPolicy, e *v1beta1.NodeNetworkConfigurationEnactment,
	node string, v nmstatev1.TemplateValue,
) (map[string]string, error) {
	if !r.Claims {
		return nil, nil
	}
	name := types.NamespacedName{Namespace: v.Address.Namespace, Name: policy.Name + "." + v.Name + "." + node}
	claim := &metal3.IPClaim{}
	switch err := r.Client.Get(ctx, name, claim); {
	case apierrors.IsNotFound(err):
		return nil, r.claim(ctx, name, policy, e, v.Address.Pool)
	case err != nil:
		return nil, fmt.Errorf("read claim %s: %w", name, err)
	case !ownedBy(claim, e) || claim.DeletionTimestamp != nil:
		return nil, nil // of an earlier enactment: it goes, with its address, and then another is claimed
	case claim.Spec.Pool.Name != v.Address.Pool:
		return nil, r.unclaim(ctx, claim)
	case claim.Status.Address == nil:
		return nil, nil
	}
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

// ownedBy says that a claim is of this very enactment, not of one that had its name.
func ownedBy(claim *metal3.IPClaim, e *v1beta1.NodeNetworkConfigurationEnactment) bool {
	return slices.ContainsFunc(claim.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == e.UID })
}

// unclaim releases the address of a pool that the policy does not name any longer.
func (r *Reconciler) unclaim(ctx context.Context, claim *metal3.IPClaim) error {
	if err := r.Client.Delete(ctx, claim, client.Preconditions{UID: &claim.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("release claim %s/%s of pool %s: %w", claim.Namespace, claim.Name, claim.Spec.Pool.Name, err)
	}
	return nil
}

func (r *Reconciler) claim(
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
