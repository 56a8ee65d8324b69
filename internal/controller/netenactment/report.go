package netenactment

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/record"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
)

// report writes the enactment of a policy, or removes it.
func (r *Reconciler) report(ctx context.Context, s *scene, v *view, j judgement) error {
	if j.state == stateRemoved {
		return r.remove(ctx, v)
	}
	if v.enactment == nil {
		if v.policy == nil || !v.policy.DeletionTimestamp.IsZero() && v.committed == nil {
			return nil
		}
		if err := r.create(ctx, s, v); err != nil {
			return err
		}
	}
	after := v.enactment.DeepCopy()
	after.Status = project(v.enactment.Status, s, v, j, r.Version)
	if j.state == condition.Pending && after.Status.Plan == nil && v.policy.DeletionTimestamp.IsZero() {
		after.Status.Plan = r.plan(ctx, s, v)
	}
	if equality.Semantic.DeepEqual(v.enactment.Status, after.Status) {
		return nil
	}
	before := v.enactment.DeepCopy()
	if err := status.Patch(ctx, r.Client, before, after); err != nil {
		return r.refused(ctx, before, err)
	}
	r.latest.holds(after, s.now)
	r.announce(ctx, s, v, before, after, j)
	return nil
}

// create makes the enactment of a policy. The Node owns it: it goes with the Node, and with the policy by this agent.
func (r *Reconciler) create(ctx context.Context, s *scene, v *view) error {
	e := &nmstatev1beta1.NodeNetworkConfigurationEnactment{ObjectMeta: metav1.ObjectMeta{
		Name:   nmstatev1beta1.EnactmentName(r.NodeName, v.name),
		Labels: map[string]string{nmstatev1.PolicyLabel: v.name, nmstatev1.NodeLabel: r.NodeName},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Node", Name: s.node.Name, UID: s.node.UID,
		}},
	}}
	if err := r.Client.Create(ctx, e); err != nil {
		return r.refused(ctx, e, fmt.Errorf("create enactment %s: %w", e.Name, err))
	}
	v.enactment = e
	r.latest.holds(e, s.now)
	return nil
}

// remove forgets a policy that is not for this node any more. The record goes first: while the enactment exists, a restart
// comes back here.
func (r *Reconciler) remove(ctx context.Context, v *view) error {
	if v.committed != nil {
		if err := (record.Store{Files: r.Node.Files}).Forget(v.name); err != nil {
			return err
		}
	}
	if v.outcome != nil {
		if err := netpolicy.ForgetOutcome(r.Node.Files, v.name); err != nil {
			return err
		}
	}
	r.Metrics.forget(v.name)
	delete(r.mending, v.name)
	delete(r.differs, v.name)
	delete(r.lost, v.name)
	if v.enactment == nil {
		return nil
	}
	if err := client.IgnoreNotFound(r.Client.Delete(ctx, v.enactment)); err != nil {
		return fmt.Errorf("delete enactment %s: %w", v.enactment.Name, err)
	}
	r.latest.gone(v.enactment.Name, v.enactment.UID, r.Now())
	return nil
}

// plan shows what the policy would change; nil where that cannot be told, which the enactment itself then explains.
func (r *Reconciler) plan(ctx context.Context, s *scene, v *view) *nmstatev1beta1.Plan {
	now, err := s.network(ctx)
	if err != nil {
		r.Log.Warn("a plan cannot be made", "policy", v.name, "error", err)
		return nil
	}
	request, missing, err := r.request(s, v, judgement{action: netpolicy.ActionApply, attempt: 1})
	if err != nil || missing != "" {
		return nil
	}
	p, err := netpolicy.Assess(request, now)
	if err != nil {
		return nil
	}
	out := &nmstatev1beta1.Plan{Time: metav1.NewTime(s.now).Rfc3339Copy(), TouchesPrimary: p.TouchesUplink,
		Omitted: max(len(p.Changes)-maxChanges, 0)}
	for _, c := range p.Changes[:min(len(p.Changes), maxChanges)] {
		out.Changes = append(out.Changes, nmstatev1beta1.Change{Key: c.Key, From: c.From, To: c.To})
	}
	if len(p.Changes) == 0 {
		out.Disruption = nmstatev1beta1.DisruptionNone
	}
	return out
}
