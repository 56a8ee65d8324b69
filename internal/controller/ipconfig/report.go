package ipconfig

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// report writes the status that observation and outcome amount to, if it differs from
// what is there, and tells events and metrics what changed.
func (r *Reconciler) report(ctx context.Context, ipc *lcav1.IPConfig, o observation, out outcome) error {
	before := ipc.DeepCopy()
	ipc.Status = project(ipc, o, out)
	if equality.Semantic.DeepEqual(before.Status, ipc.Status) {
		if !r.announced {
			r.announce(ctx, before, ipc, o)
		}
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, ipc, patch); err != nil {
		return fmt.Errorf("write status of ipconfig %s: %w", ipc.Name, err)
	}
	r.announce(ctx, before, ipc, o)
	r.measure(before, ipc, o, out)
	return nil
}

// project computes the whole status. It is the only place that does.
func project(ipc *lcav1.IPConfig, o observation, out outcome) lcav1.IPConfigStatus {
	s := ipc.Status.DeepCopy()
	s.ObservedGeneration = ipc.Generation
	s.IPv4, s.IPv6, s.DNSServers = o.current.IPv4, o.current.IPv6, o.current.DNSServers
	s.VLANID, s.DNSFilterOutFamily = o.current.VLANID, o.current.FilterFamily
	s.Conditions = conditionsFor(s.Conditions, ipc, o, out)
	s.ValidNextStages = ipconfig.ValidNext(out.state)
	if out.next != nil {
		s.ValidNextStages = out.next
	}
	s.History = historyFor(s.History, o, out.state)
	projectOperation(s, o, out)
	if out.state == ipconfig.StateIdle {
		s.RollbackAvailabilityExpiration, s.Preflight, s.Plan, s.Step = nil, nil, nil, nil
		s.Recert = ""
	}
	return *s
}

// projectOperation fills what the journal and the request say.
func projectOperation(s *lcav1.IPConfigStatus, o observation, out outcome) {
	if out.operation != "" {
		s.OperationID, s.Step, s.Evidence, s.Preflight, s.Plan = out.operation, nil, nil, nil, nil
		s.Recert = ""
	}
	if out.preflight != nil {
		s.Preflight = out.preflight
	}
	if out.plan != nil {
		s.Plan = out.plan
	}
	if counts := o.foretold; counts != nil && s.Plan != nil {
		s.Plan.Certificates, s.Plan.Objects, s.Plan.Files = int32(counts.Certificates), int32(counts.Objects), int32(counts.Files)
	}
	if !o.returnUntil.IsZero() {
		until := stamp(o.returnUntil)
		s.RollbackAvailabilityExpiration = &until
	}
	if o.request == nil {
		return
	}
	s.OperationID = o.request.OperationID
	s.Step = stepOf(o.progress, out.state.WithWayBack())
	s.Evidence, s.Recert = o.evidence, clip(o.progress.Recert)
}

// stepOf is the step of the flow that spoke last, where that flow is what the state is about: one that came to its end stopped
// nowhere, and what was done before a rollback is no step of the rollback.
func stepOf(p ipconfig.Progress, state ipconfig.State) *lcav1.StepStatus {
	last := p.Flow(p.Latest)
	switch {
	case last == nil,
		state == ipconfig.StateConfigured, state == ipconfig.StateRolledBack,
		state == ipconfig.StateRollingBack && p.Latest != ipconfig.FlowRollback,
		state == ipconfig.StateBecomingIdle && p.Latest != ipconfig.FlowCleanup:
		return nil
	}
	message := last.Title
	if last.Failure != "" {
		message = last.Failure
	}
	s := &lcav1.StepStatus{Name: last.Step, Index: int32(last.Index), Total: int32(last.Total), Message: clip(message)}
	if !last.StepStarted.IsZero() {
		started := stamp(last.StepStarted)
		s.StartTime = &started
	}
	return s
}

// conditionsFor brings the conditions in line with the outcome, the newest last.
func conditionsFor(before []metav1.Condition, ipc *lcav1.IPConfig, o observation, out outcome) []metav1.Condition {
	l := &conditionList{items: before, generation: ipc.Generation, now: o.now}
	for i := range l.items {
		l.items[i].ObservedGeneration = ipc.Generation
	}
	blockedType := ""
	if out.state == ipconfig.StateBlocked {
		blockedType = inProgressType(ipc.Spec.Stage)
	}
	l.dropReason(lcav1.ReasonBlocked, blockedType)
	kind := ""
	if out.invalid != "" {
		kind = inProgressType(out.invalid)
	}
	l.dropReason(lcav1.ReasonInvalidTransition, kind)
	l.settle(out, blockedType)
	if kind == "" {
		return l.items
	}
	l.set(kind, metav1.ConditionFalse, lcav1.ReasonInvalidTransition, "invalid IPConfig stage: "+string(out.invalid))
	return l.items
}

// settle sets what belongs to the state.
func (l *conditionList) settle(out outcome, blockedType string) {
	switch out.state {
	case ipconfig.StateBlocked:
		l.set(blockedType, metav1.ConditionFalse, lcav1.ReasonBlocked, out.message)
	case ipconfig.StateNew, ipconfig.StateBecomingIdle:
		reason, message := lcav1.ReasonInProgress, or(out.message, msgBecomingIdle)
		if out.failed {
			reason = lcav1.ReasonFailed
		}
		l.set(lcav1.ConditionIdle, metav1.ConditionFalse, reason, message)
	case ipconfig.StateIdle:
		l.drop(lcav1.ConditionConfigInProgress, lcav1.ConditionConfigCompleted,
			lcav1.ConditionRollbackInProgress, lcav1.ConditionRollbackCompleted)
		l.set(lcav1.ConditionIdle, metav1.ConditionTrue, lcav1.ReasonIdle, msgIdle)
	default:
		l.set(lcav1.ConditionIdle, metav1.ConditionFalse, lcav1.ReasonConfigurationInProgress, msgConfig)
		l.settleStage(out)
	}
}

// settleStage sets the pair of conditions of Config or Rollback.
func (l *conditionList) settleStage(out outcome) {
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	switch out.state.WithWayBack() {
	case ipconfig.StatePreparing, ipconfig.StateFinishing:
		l.drop(lcav1.ConditionConfigCompleted)
		l.set(lcav1.ConditionConfigInProgress, yes, lcav1.ReasonInProgress, or(out.message, msgConfig))
	case ipconfig.StateConfigured:
		l.set(lcav1.ConditionConfigInProgress, no, lcav1.ReasonCompleted, or(out.message, l.said(lcav1.ConditionConfigCompleted)))
		l.set(lcav1.ConditionConfigCompleted, yes, lcav1.ReasonCompleted, or(out.message, l.said(lcav1.ConditionConfigCompleted)))
	case ipconfig.StateConfigFailed, ipconfig.StateFinishFailed:
		message := or(out.message, l.said(lcav1.ConditionConfigCompleted))
		l.set(lcav1.ConditionConfigCompleted, no, lcav1.ReasonFailed, message)
		l.set(lcav1.ConditionConfigInProgress, no, lcav1.ReasonFailed, message)
	case ipconfig.StateRollingBack:
		l.drop(lcav1.ConditionRollbackCompleted)
		if c := l.find(lcav1.ConditionConfigInProgress); c != nil && c.Status == yes {
			l.drop(lcav1.ConditionConfigInProgress) // superseded
		}
		l.set(lcav1.ConditionRollbackInProgress, yes, lcav1.ReasonInProgress, or(out.message, msgRollback))
	case ipconfig.StateRolledBack:
		l.set(lcav1.ConditionRollbackInProgress, no, lcav1.ReasonCompleted, msgRolledBack)
		l.set(lcav1.ConditionRollbackCompleted, yes, lcav1.ReasonCompleted, msgRolledBack)
	case ipconfig.StateRollbackFailed:
		l.set(lcav1.ConditionRollbackCompleted, no, lcav1.ReasonFailed, or(out.message, l.said(lcav1.ConditionRollbackCompleted)))
		l.set(lcav1.ConditionRollbackInProgress, no, lcav1.ReasonFailed, or(out.message, l.said(lcav1.ConditionRollbackCompleted)))
	}
}

// said is the message the condition has.
func (l *conditionList) said(kind string) string {
	if c := l.find(kind); c != nil {
		return c.Message
	}
	return ""
}

func or(message, usual string) string {
	if message == "" {
		return usual
	}
	return message
}
