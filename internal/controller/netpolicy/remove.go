package netpolicy

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
)

// ensureFinalizer gives a policy with onDelete: Revert its finalizer, before any node starts, and takes it from one that is to be kept.
func (r *Reconciler) ensureFinalizer(ctx context.Context, policy *nmstatev1.NodeNetworkConfigurationPolicy) (changed bool, err error) {
	before := policy.DeepCopy()
	if policy.Spec.OnDelete == nmstatev1.OnDeleteRevert {
		if policy.DeletionTimestamp == nil {
			changed = controllerutil.AddFinalizer(policy, nmstatev1.RevertFinalizer)
		}
	} else {
		changed = controllerutil.RemoveFinalizer(policy, nmstatev1.RevertFinalizer)
	}
	if !changed {
		return false, nil
	}
	return true, r.patchFinalizers(ctx, before, policy)
}

func (r *Reconciler) patchFinalizers(ctx context.Context, before, after *nmstatev1.NodeNetworkConfigurationPolicy) error {
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := client.IgnoreNotFound(r.Client.Patch(ctx, after, patch)); err != nil {
		return fmt.Errorf("write the finalizers of policy %s: %w", after.Name, err)
	}
	return nil
}

// releaseReverted releases a policy that no node has any longer. The cache is not trusted with that.
func (r *Reconciler) releaseReverted(ctx context.Context, policy *nmstatev1.NodeNetworkConfigurationPolicy) error {
	left, err := r.enactmentsLeft(ctx, policy.Name)
	if err != nil {
		return err
	}
	nodes, err := r.nodeNames(ctx)
	if err != nil {
		return err
	}
	for i := range left {
		if nodes[left[i].Labels[nmstatev1.NodeLabel]] {
			return nil
		}
	}
	before := policy.DeepCopy()
	if !controllerutil.RemoveFinalizer(policy, nmstatev1.RevertFinalizer) {
		return nil
	}
	r.emitEvent(policy, normal, "Reverted", "Revert", "every node has reverted the policy")
	return r.patchFinalizers(ctx, before, policy)
}

// enactmentsLeft are the enactments of a policy, read past the cache. A name that is no label value has none: the API server stores no
// such label, and refuses to search for it.
func (r *Reconciler) enactmentsLeft(ctx context.Context, policy string) ([]v1beta1.NodeNetworkConfigurationEnactment, error) {
	if len(validation.IsValidLabelValue(policy)) > 0 {
		return nil, nil
	}
	list := &v1beta1.NodeNetworkConfigurationEnactmentList{}
	if err := r.Reader.List(ctx, list, client.MatchingLabels{nmstatev1.PolicyLabel: policy}); err != nil {
		return nil, fmt.Errorf("list enactments of policy %s: %w", policy, err)
	}
	return list.Items, nil
}

func (r *Reconciler) nodeNames(ctx context.Context) (map[string]bool, error) {
	list := &corev1.NodeList{}
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	found := make(map[string]bool, len(list.Items))
	for i := range list.Items {
		found[list.Items[i].Name] = true
	}
	return found, nil
}

// deleteLeftovers deletes what is left of a policy that is gone: enactments of nodes whose agent is not there to do it. Where
// kubernetes-nmstate is, its handlers do.
func (r *Reconciler) deleteLeftovers(ctx context.Context, name string) error {
	r.Metrics.forgetPolicy(name)
	err := r.Reader.Get(ctx, client.ObjectKey{Name: name}, &nmstatev1.NodeNetworkConfigurationPolicy{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	if err := r.prunePolicies(ctx); err != nil {
		return err
	}
	if standby, err := r.peer.standbyReason(ctx, r.Reader, r.Now()); standby != "" || err != nil {
		return err
	}
	left, err := r.enactmentsLeft(ctx, name)
	if err != nil {
		return err
	}
	for i := range left {
		e := &left[i]
		if err := r.Client.Delete(ctx, e, client.Preconditions{UID: &e.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete enactment %s of a policy that is gone: %w", e.Name, err)
		}
	}
	return nil
}
