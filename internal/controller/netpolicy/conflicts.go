package netpolicy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1 "k8s.io/api/core/v1"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/conflict"
)

const (
	maxConflicts = 16
	// maxKeys of one conflict are listed.
	maxKeys = 8
)

// flattened is a document that was taken apart, at a generation.
type flattened struct {
	generation int64
	document   conflict.Document
}

// findConflicts finds the other policies that want other values for the same keys of a node.
func (r *Reconciler) findConflicts(
	ctx context.Context, policy *nmstatev1.NodeNetworkConfigurationPolicy, seen *observation,
) ([]nmstatev1.Conflict, error) {
	list := &nmstatev1.NodeNetworkConfigurationPolicyList{}
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list policies: %w", err)
	}
	own := r.flattenPolicy(policy)
	var found []nmstatev1.Conflict
	for i := range list.Items {
		other := &list.Items[i]
		if other.Name == policy.Name || other.DeletionTimestamp != nil || policy.DeletionTimestamp != nil {
			continue
		}
		keys := conflict.Keys(own, r.flattenPolicy(other))
		if len(keys) == 0 {
			continue
		}
		node, err := r.commonNode(ctx, seen, other)
		if err != nil {
			return nil, err
		}
		if node == "" {
			continue
		}
		if len(keys) > maxKeys {
			keys = append(keys[:maxKeys:maxKeys], fmt.Sprintf("and %d more", len(keys)-maxKeys))
		}
		found = append(found, nmstatev1.Conflict{Policy: other.Name, Keys: keys, Node: node})
	}
	slices.SortFunc(found, func(a, b nmstatev1.Conflict) int { return strings.Compare(a.Policy, b.Policy) })
	return found[:min(len(found), maxConflicts)], nil
}

// commonNode finds a node that both policies are for.
func (r *Reconciler) commonNode(ctx context.Context, seen *observation, other *nmstatev1.NodeNetworkConfigurationPolicy) (string, error) {
	selects, err := r.nodeSelector(ctx, other)
	if err != nil {
		return "", err
	}
	for _, n := range seen.nodes {
		node := &corev1.Node{}
		err := r.Client.Get(ctx, types.NamespacedName{Name: n.Name}, node, client.UnsafeDisableDeepCopy)
		if client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("read node %s: %w", n.Name, err)
		}
		if node.Name != "" && selects(node.Labels) {
			return n.Name, nil
		}
	}
	return "", nil
}

func (r *Reconciler) flattenPolicy(policy *nmstatev1.NodeNetworkConfigurationPolicy) conflict.Document {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, is := r.documents[policy.UID]; is && known.generation == policy.Generation {
		return known.document
	}
	document := conflict.Document{}
	if policy.Spec.DesiredState != nil {
		// What cannot be read cannot conflict; the nodes report it.
		document, _ = conflict.Flatten(policy.Spec.DesiredState.Raw)
	}
	r.documents[policy.UID] = flattened{policy.Generation, document}
	return document
}

// summarizeConflicts makes the message of the condition Conflicting.
func summarizeConflicts(conflicts []nmstatev1.Conflict) string {
	parts := make([]string, 0, len(conflicts))
	for _, c := range conflicts {
		parts = append(parts, fmt.Sprintf("policy %s on node %s (%s)", c.Policy, c.Node, strings.Join(c.Keys, "; ")))
	}
	return "other values are wanted by " + strings.Join(parts, ", ")
}
