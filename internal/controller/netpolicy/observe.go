package netpolicy

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout"
)

// observation is what there is of a policy.
type observation struct {
	nodes []rollout.Node
	// enactments by the name of their node.
	enactments map[string]*v1beta1.NodeNetworkConfigurationEnactment
	// unreadable says by node why the MachineConfig that its pool rendered cannot be read.
	unreadable map[string]string
}

// observeNodes lists the nodes that the policy is for and that run the agent: those with an enactment of it or a network state. Of a policy
// that is being deleted, the nodes are those that have not reverted it.
func (r *Reconciler) observeNodes(ctx context.Context, policy *nmstatev1.NodeNetworkConfigurationPolicy) (*observation, error) {
	enactments, err := r.enactmentsOf(ctx, policy)
	if err != nil {
		return nil, err
	}
	seen := &observation{enactments: enactments, unreadable: map[string]string{}}
	selects, err := r.nodeSelector(ctx, policy)
	if err != nil {
		return nil, err
	}
	agents, err := r.nodesWithAgent(ctx)
	if err != nil {
		return nil, err
	}
	list := &corev1.NodeList{}
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	for i := range list.Items {
		n := &list.Items[i]
		e := enactments[n.Name]
		agent := agents[n.Name]
		is := selects(n.Labels) && (e != nil || agent != nil)
		if policy.DeletionTimestamp != nil {
			is = e != nil
		}
		if is {
			node := r.rolloutNode(policy, n, e)
			if agent != nil && (e == nil || e.Status.PolicyGeneration != policy.Generation) {
				node.Refused = v1beta1.RefusalOf(agent, policy)
			}
			if policy.Spec.MachineConfigPoolSelector != nil && policy.DeletionTimestamp == nil {
				has, err := r.isDelivered(ctx, policy, n.Annotations[currentConfigAnnotation])
				var unreadable *unreadableError
				if errors.As(err, &unreadable) { // of this pool alone
					seen.unreadable[n.Name] = err.Error()
				} else if err != nil {
					return nil, err
				}
				node.Unresolved = !has
			}
			seen.nodes = append(seen.nodes, node)
		}
	}
	return seen, nil
}

// enactmentsOf maps nodes to their enactments of a policy.
func (r *Reconciler) enactmentsOf(
	ctx context.Context, policy *nmstatev1.NodeNetworkConfigurationPolicy,
) (map[string]*v1beta1.NodeNetworkConfigurationEnactment, error) {
	list := &v1beta1.NodeNetworkConfigurationEnactmentList{}
	if err := r.Client.List(ctx, list, client.MatchingFields{byPolicy: policy.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list enactments of policy %s: %w", policy.Name, err)
	}
	found := make(map[string]*v1beta1.NodeNetworkConfigurationEnactment, len(list.Items))
	for i := range list.Items {
		e := &list.Items[i]
		node := e.Labels[nmstatev1.NodeLabel]
		if e.Name != v1beta1.EnactmentName(node, policy.Name) {
			continue
		}
		if e, err := r.readIfDoubted(ctx, e); err != nil {
			return nil, err
		} else if e != nil {
			found[node] = e
		}
	}
	return found, r.addMissing(ctx, policy.Name, list.Items, found)
}

// addMissing reads what the former leader granted and the cache does not have at all: those nodes may be changing.
func (r *Reconciler) addMissing(ctx context.Context, policy string, cached []v1beta1.NodeNetworkConfigurationEnactment,
	found map[string]*v1beta1.NodeNetworkConfigurationEnactment,
) error {
	for _, name := range r.granted.missingFrom(policy, cached) {
		e := &v1beta1.NodeNetworkConfigurationEnactment{}
		err := r.Reader.Get(ctx, client.ObjectKey{Name: name}, e)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("read enactment %s, which was granted before: %w", name, err)
		}
		if node := e.Labels[nmstatev1.NodeLabel]; err == nil && name == v1beta1.EnactmentName(node, policy) {
			found[node] = e
		}
	}
	return nil
}

// readIfDoubted reads an enactment past the cache if it is unknown what was written of it; nil where it is gone.
func (r *Reconciler) readIfDoubted(
	ctx context.Context, e *v1beta1.NodeNetworkConfigurationEnactment,
) (*v1beta1.NodeNetworkConfigurationEnactment, error) {
	if !r.granted.isDoubted(e.UID) {
		return e, nil
	}
	now := &v1beta1.NodeNetworkConfigurationEnactment{}
	if err := r.Reader.Get(ctx, client.ObjectKeyFromObject(e), now); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read enactment %s, which may have been granted: %w", e.Name, err)
	}
	r.granted.resolveDoubt(e.UID, now.Annotations[v1beta1.GrantAnnotation])
	if now.UID != e.UID {
		return nil, nil
	}
	return now, nil
}

func (r *Reconciler) rolloutNode(
	policy *nmstatev1.NodeNetworkConfigurationPolicy,
	n *corev1.Node,
	e *v1beta1.NodeNetworkConfigurationEnactment,
) rollout.Node {
	node := rollout.Node{Name: n.Name, Ready: isReady(n)}
	if c := canaryOf(policy); c != nil && c.Selector != nil {
		node.Canary = labels.SelectorFromSet(c.Selector).Matches(labels.Set(n.Labels))
	}
	node = rollout.Of(node, policy, e)
	if e != nil {
		node.Granted = r.granted.isGranted(e.UID, v1beta1.Grant(policy), node.Granted)
	}
	return node
}

// nodesWithAgent are the metadata of what nodes publish of their network, by node.
func (r *Reconciler) nodesWithAgent(ctx context.Context) (map[string]*metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1beta1.GroupVersion.WithKind("NodeNetworkStateList"))
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list network states: %w", err)
	}
	found := make(map[string]*metav1.PartialObjectMetadata, len(list.Items))
	for i := range list.Items {
		found[list.Items[i].Name] = &list.Items[i]
	}
	return found, nil
}

// nodeSelector reports whether a policy is for a node with these labels: by the node's labels, or by pools that select the node.
func (r *Reconciler) nodeSelector(
	ctx context.Context, policy *nmstatev1.NodeNetworkConfigurationPolicy,
) (func(map[string]string) bool, error) {
	if policy.Spec.MachineConfigPoolSelector == nil {
		s := labels.SelectorFromSet(policy.Spec.NodeSelector)
		return func(have map[string]string) bool { return s.Matches(labels.Set(have)) }, nil
	}
	var nodes []labels.Selector
	if r.later.pools.Load() {
		pools := &mcv1.MachineConfigPoolList{}
		if err := r.Client.List(ctx, pools, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("list machine config pools: %w", err)
		}
		nodes = poolNodes(policy.Spec.MachineConfigPoolSelector, pools.Items)
	}
	return func(have map[string]string) bool {
		for _, s := range nodes {
			if s.Matches(labels.Set(have)) {
				return true
			}
		}
		return false
	}, nil
}

// poolNodes are the node selectors of the pools that are selected. An empty selector selects none.
func poolNodes(selector *metav1.LabelSelector, pools []mcv1.MachineConfigPool) (nodes []labels.Selector) {
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil || s.Empty() {
		return nil
	}
	for i := range pools {
		if !s.Matches(labels.Set(pools[i].Labels)) {
			continue
		}
		if n, err := metav1.LabelSelectorAsSelector(pools[i].Spec.NodeSelector); err == nil {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// decideRollout asks the arithmetic.
func decideRollout(policy *nmstatev1.NodeNetworkConfigurationPolicy, seen *observation, standby string, now time.Time) rollout.Decision {
	generation := strconv.FormatInt(policy.Generation, 10)
	p := rollout.Policy{
		Generation: policy.Generation, MaxUnavailable: policy.Spec.MaxUnavailable, Canary: canaryOf(policy),
		Manual:   policy.Spec.Approval == nmstatev1.ApprovalManual,
		Approved: policy.Annotations[nmstatev1.ApprovedAnnotation] == generation,
		Resumed:  policy.Annotations[nmstatev1.ResumedAnnotation] == generation,
		Paused:   policy.Annotations[nmstatev1.PausedAnnotation] == "true",
		// A policy that is being deleted without the finalizer is gone in a moment.
		Reverting: policy.DeletionTimestamp != nil,
		Standby:   standby,
	}
	if ro := policy.Spec.Rollout; ro != nil {
		p.Soak, p.PauseOnFailure = time.Duration(ro.SoakSeconds)*time.Second, ro.PauseOnFailure
	}
	return rollout.Decide(p, seen.nodes, now)
}

func canaryOf(policy *nmstatev1.NodeNetworkConfigurationPolicy) *nmstatev1.Canary {
	if policy.Spec.Rollout == nil {
		return nil
	}
	return policy.Spec.Rollout.Canary
}

func isReady(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
