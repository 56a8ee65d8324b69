package ipconfig

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/singleton"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// reportStatus writes the status that observation and outcome amount to, if it changed, and publishes events and metrics.
func (r *Reconciler) reportStatus(ctx context.Context, ipc *lcav1.IPConfig, o observation, out outcome) error {
	before := ipc.DeepCopy()
	ipc.Status = projectStatus(ipc, o, out)
	changed := !equality.Semantic.DeepEqual(before.Status, ipc.Status)
	if changed {
		if err := status.Patch(ctx, r.Client, before, ipc); err != nil {
			return fmt.Errorf("report on ipconfig: %w", err)
		}
		r.measureChange(before, ipc, o, out)
	}
	r.Metrics.progress.showProgress(ipc.Status, o)
	r.ensureExport(ipc, o)
	r.ensureRecord(o)
	if changed || !r.publishedSomething {
		r.publishChanges(ctx, before, ipc, o)
	}
	return nil
}

// projectStatus computes the whole status. It is the only place that does.
func projectStatus(ipc *lcav1.IPConfig, o observation, out outcome) lcav1.IPConfigStatus {
	s := ipc.Status.DeepCopy()
	s.ObservedGeneration = ipc.Generation
	s.IPv4, s.IPv6, s.DNSServers = o.current.IPv4, o.current.IPv6, o.current.DNSServers
	s.VLANID, s.DNSFilterOutFamily = o.current.VLANID, o.current.FilterFamily
	s.Conditions = conditionsFor(s.Conditions, ipc, o, out)
	s.ValidNextStages = ipconfig.ValidNext(out.state)
	if out.next != nil {
		s.ValidNextStages = out.next
	}
	if o.rehearsal != nil {
		s.Rehearsal = o.rehearsal
	}
	s.History = historyFor(s.History, o, out.state)
	projectOperation(s, o, out)
	if out.state == ipconfig.StateIdle {
		s.RollbackAvailabilityExpiration, s.Preflight, s.Plan, s.Step = nil, nil, nil, nil
		s.Recert = ""
	}
	return *s
}

// projectOperation fills in what journal and request imply.
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
	if counts := o.forecast; counts != nil && s.Plan != nil {
		s.Plan.Certificates, s.Plan.Objects, s.Plan.Files = int32(counts.Certificates), int32(counts.Objects), int32(counts.Files)
		s.Plan.Warnings = counts.Warnings
	}
	if !o.rollbackUntil.IsZero() {
		until := apiTime(o.rollbackUntil)
		s.RollbackAvailabilityExpiration = &until
	}
	if o.request == nil {
		return
	}
	s.OperationID = o.request.OperationID
	s.Step = stepOf(o.progress, out.state.WithRollback())
	s.Evidence, s.Recert = o.evidence, status.Clip(o.progress.Recert)
}

// stepOf is the step of the latest flow, where the state is about that flow: one that has ended is at no step, and what was
// done before a rollback is no step of the rollback.
func stepOf(p ipconfig.Progress, state ipconfig.State) *lcav1.StepStatus {
	last := p.Flow(p.Latest)
	switch {
	case p.Latest == "",
		state == ipconfig.StateConfigured, state == ipconfig.StateRolledBack,
		(state == ipconfig.StateRollingBack || state == ipconfig.StateReturned) && p.Latest != ipconfig.FlowRollback,
		state == ipconfig.StateBecomingIdle && p.Latest != ipconfig.FlowCleanup:
		return nil
	}
	message := last.Title
	if last.Failure != "" {
		message = last.Failure
	}
	s := &lcav1.StepStatus{Name: last.Step, Index: int32(last.Index), Total: int32(last.Total), Message: status.Clip(message)}
	if !last.StepStarted.IsZero() {
		started := apiTime(last.StepStarted)
		s.StartTime = &started
	}
	return s
}

// conditionsFor computes the conditions, the newest last.
func conditionsFor(before []metav1.Condition, ipc *lcav1.IPConfig, o observation, out outcome) []metav1.Condition {
	l := status.NewConditions(before, ipc.Generation, o.now)
	blockedType := ""
	if out.state == ipconfig.StateBlocked {
		blockedType = inProgressType(ipc.Spec.Stage)
	}
	l.DropReason(lcav1.ReasonBlocked, blockedType)
	declinedType := ""
	if out.invalid != "" {
		declinedType = inProgressType(out.invalid)
	}
	l.DropReason(lcav1.ReasonInvalidTransition, declinedType)
	setState(l, out, blockedType)
	if out.invalid != "" {
		l.Set(declinedType, metav1.ConditionFalse, lcav1.ReasonInvalidTransition, invalidMessage(out))
	}
	summarizeState(l, out)
	showObserved(l, o, out.state)
	return l.Items
}

// summarizeState repeats the newest condition for programs that know no kind.
func summarizeState(l *status.Conditions, out outcome) {
	last := l.Items[len(l.Items)-1]
	switch {
	case out.invalid != "", out.state.Failed():
		l.Summarize(status.Stalled, last.Reason, last.Message)
	case out.state.Ends():
		l.Summarize(status.Reconciling, last.Reason, last.Message)
	default:
		l.Summarize(status.Settled, "", "")
	}
}

// invalidMessage says what may be requested instead, and what becomes of the stage that was accepted.
func invalidMessage(out outcome) string {
	next := out.next
	if next == nil {
		next = ipconfig.ValidNext(out.state)
	}
	allowed := "none"
	for i, stage := range next {
		if i == 0 {
			allowed = string(stage)
		} else {
			allowed += ", " + string(stage)
		}
	}
	return fmt.Sprintf("invalid IPConfig stage: %s; what was accepted before continues, and status.validNextStages is: %s",
		out.invalid, allowed)
}

// inProgressType is the condition that reports on a stage in progress.
func inProgressType(stage lcav1.IPConfigStage) string {
	switch stage {
	case lcav1.StageConfig:
		return lcav1.ConditionConfigInProgress
	case lcav1.StageRollback:
		return lcav1.ConditionRollbackInProgress
	default:
		return lcav1.ConditionIdle
	}
}

// setState sets what belongs to the state.
func setState(l *status.Conditions, out outcome, blockedType string) {
	switch out.state {
	case ipconfig.StateBlocked:
		l.Set(blockedType, metav1.ConditionFalse, lcav1.ReasonBlocked, out.message)
	case ipconfig.StateNew, ipconfig.StateBecomingIdle:
		reason, message := lcav1.ReasonInProgress, orDefault(out.message, msgBecomingIdle)
		if out.failed {
			reason = lcav1.ReasonFailed
		}
		l.Set(lcav1.ConditionIdle, metav1.ConditionFalse, reason, message)
	case ipconfig.StateIdle:
		l.Drop(lcav1.ConditionConfigInProgress, lcav1.ConditionConfigCompleted,
			lcav1.ConditionRollbackInProgress, lcav1.ConditionRollbackCompleted)
		l.Set(lcav1.ConditionIdle, metav1.ConditionTrue, lcav1.ReasonIdle, orDefault(out.message, msgIdle))
	default:
		l.Set(lcav1.ConditionIdle, metav1.ConditionFalse, lcav1.ReasonConfigurationInProgress, msgConfig)
		setStage(l, out)
	}
}

// setStage sets the pair of conditions of Config or Rollback.
func setStage(l *status.Conditions, out outcome) {
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	switch out.state.WithRollback() {
	case ipconfig.StatePreparing, ipconfig.StateFinishing:
		l.Drop(lcav1.ConditionConfigCompleted)
		l.Set(lcav1.ConditionConfigInProgress, yes, lcav1.ReasonInProgress, orDefault(out.message, msgConfig))
	case ipconfig.StateConfigured:
		l.Set(lcav1.ConditionConfigInProgress, no, lcav1.ReasonCompleted, orDefault(out.message, l.Message(lcav1.ConditionConfigCompleted)))
		l.Set(lcav1.ConditionConfigCompleted, yes, lcav1.ReasonCompleted, orDefault(out.message, l.Message(lcav1.ConditionConfigCompleted)))
	case ipconfig.StateConfigFailed, ipconfig.StateFinishFailed:
		message := orDefault(out.message, l.Message(lcav1.ConditionConfigCompleted))
		l.Set(lcav1.ConditionConfigCompleted, no, lcav1.ReasonFailed, message)
		l.Set(lcav1.ConditionConfigInProgress, no, lcav1.ReasonFailed, message)
	case ipconfig.StateRollingBack, ipconfig.StateReturned:
		l.Drop(lcav1.ConditionRollbackCompleted)
		if meta.IsStatusConditionTrue(l.Items, lcav1.ConditionConfigInProgress) {
			l.Drop(lcav1.ConditionConfigInProgress) // superseded
		}
		l.Set(lcav1.ConditionRollbackInProgress, yes, lcav1.ReasonInProgress, orDefault(out.message, msgRollback))
	case ipconfig.StateRolledBack:
		l.Set(lcav1.ConditionRollbackInProgress, no, lcav1.ReasonCompleted, msgRolledBack)
		l.Set(lcav1.ConditionRollbackCompleted, yes, lcav1.ReasonCompleted, msgRolledBack)
	case ipconfig.StateRollbackFailed:
		l.Set(lcav1.ConditionRollbackCompleted, no, lcav1.ReasonFailed, orDefault(out.message, l.Message(lcav1.ConditionRollbackCompleted)))
		l.Set(lcav1.ConditionRollbackInProgress, no, lcav1.ReasonFailed,
			orDefault(out.message, l.Message(lcav1.ConditionRollbackCompleted)))
	default: // these conditions say nothing of the other states
	}
}

func orDefault(message, usual string) string {
	if message == "" {
		return usual
	}
	return message
}

// showObserved reports what part of the observation failed, where no stage's condition reports it, and that it succeeds again.
func showObserved(l *status.Conditions, o observation, state ipconfig.State) {
	switch {
	case o.unobserved == nil && meta.FindStatusCondition(l.Items, lcav1.ConditionNodeObserved) != nil:
		singleton.SetObserved(l, "")
	case o.unobserved != nil && (state == ipconfig.StateIdle || state == ipconfig.StateNew):
		singleton.SetObserved(l, strings.TrimPrefix(o.unobserved.Message, msgStabilizing))
	}
}
