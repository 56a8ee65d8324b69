package ipconfig

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/singleton"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// publishEvent publishes an event on the object, which may be missing.
func (r *Reconciler) publishEvent(ctx context.Context, on *lcav1.IPConfig, e status.Event) {
	kind.Publish(ctx, status.Recorder{Client: r.Client, Log: r.Log}, on, e)
}

// publishChanges publishes each condition that changed, and each step that ended, since status was last written. The first
// time it repeats what a previous operator may have written to status and not published.
func (r *Reconciler) publishChanges(ctx context.Context, before, after *lcav1.IPConfig, o observation) {
	for _, s := range r.published.newlyEnded(before.Status, o.progress) {
		r.publishEvent(ctx, after, stepEvent(s))
	}
	if rollback := o.progress.Rollback; rollback.Begun && r.publishedRollback != o.progress.Operation {
		r.publishedRollback = o.progress.Operation
		r.publishEvent(ctx, after, rollbackEvent(o.progress))
	}
	known := before.Status.Conditions
	if !r.publishedSomething {
		known, r.publishedSomething = changedBefore(known, o.now.Add(-singleton.RepeatedFor)), true
	}
	if now := after.Status.Rehearsal; now != nil && now.Finished != nil && !equality.Semantic.DeepEqual(before.Status.Rehearsal, now) {
		r.publishEvent(ctx, after, rehearsalEvent(*now, o.now))
	}
	for _, c := range status.Changed(known, after.Status.Conditions) {
		r.publishEvent(ctx, after, conditionEvent(c))
	}
}

// changedBefore are the conditions that changed their status before t.
func changedBefore(conds []metav1.Condition, t time.Time) []metav1.Condition {
	return slices.DeleteFunc(slices.Clone(conds), func(c metav1.Condition) bool { return c.LastTransitionTime.After(t) })
}

func conditionEvent(c metav1.Condition) status.Event {
	severity := corev1.EventTypeNormal
	switch c.Reason {
	case lcav1.ReasonFailed, lcav1.ReasonInvalidTransition, lcav1.ReasonBlocked, lcav1.ReasonNotObserved:
		severity = corev1.EventTypeWarning
	}
	return status.Event{Type: severity, Reason: c.Type + c.Reason, Action: "ChangeStage", Note: c.Message, At: c.LastTransitionTime.Time}
}

func stepEvent(s flow.StepRecord) status.Event {
	took := s.Took.Round(time.Second / 10)
	e := status.Event{Type: corev1.EventTypeWarning, Action: s.Flow + "/" + s.Step, At: s.Ended}
	switch s.Kind {
	case flow.KindFailed, flow.KindUndoFailed:
		e.Reason, e.Note = "StepFailed", fmt.Sprintf("%s: %s failed after %s: %s", s.Flow, s.Step, took, s.Error)
	case flow.KindUndone:
		e.Reason, e.Note = "StepUndone", fmt.Sprintf("%s: %s was undone in %s", s.Flow, s.Step, took)
	default:
		e.Type, e.Reason = corev1.EventTypeNormal, "StepCompleted"
		e.Note = fmt.Sprintf("%s: %s (%s) took %s", s.Flow, s.Step, s.Title, took)
	}
	return e
}

func rollbackEvent(p ipconfig.Progress) status.Event {
	note := "The node rolls back to its previous stateroot: " + orDefault(p.Cause, "cause unknown")
	return status.Event{Type: corev1.EventTypeWarning, Reason: "Rollback", Action: "Rollback", Note: note, At: p.Rollback.Started}
}

// awaitingHealth is at most one event a minute.
func awaitingHealth(missing *status.Blocked, now time.Time) status.Event {
	return status.Event{Type: corev1.EventTypeWarning, Reason: "AwaitingHealth", Action: "ChangeStage",
		Note: "The change is proved and not complete: " + missing.String(), At: now.Truncate(time.Minute)}
}

// rehearsalEvent says how a rehearsal has ended.
func rehearsalEvent(r lcav1.Rehearsal, now time.Time) status.Event {
	e := status.Event{Type: corev1.EventTypeNormal, Reason: "Rehearsal" + string(r.Result), Action: "Rehearse", At: now,
		Note: fmt.Sprintf("Rehearsal %s: %s", r.OperationID, r.Result)}
	if r.Finished != nil {
		e.At = r.Finished.Time
	}
	if r.Message != "" {
		e.Note += ": " + r.Message
	}
	for _, p := range r.Proofs {
		if p.Result == lcav1.ProofFailed {
			e.Type, e.Note = corev1.EventTypeWarning, e.Note+"; "+p.Name+": "+p.Message
		}
	}
	return e
}

// imageNotCached is one event in ten minutes.
func imageNotCached(image, why string, now time.Time) status.Event {
	return status.Event{Type: corev1.EventTypeWarning, Reason: "RecertImageNotCached", Action: "FetchImage",
		Note: fmt.Sprintf("The image %s could not be fetched ahead of a change, retrying: %s", image, why),
		At:   now.Truncate(singleton.RepeatedFor)}
}

func restoredEvent(ipc *lcav1.IPConfig, now time.Time) status.Event {
	note := fmt.Sprintf("The object or its status was lost while operation %s is on the node; "+
		"it is restored with stage %s from the node's record", ipc.Status.OperationID, ipc.Spec.Stage)
	return status.Event{Type: corev1.EventTypeWarning, Reason: "Restored", Action: "Restore", Note: note, At: now}
}

// cursor is how far the timeline of an operation was read. A new operator derives it from status; what is then published
// twice is one event all the same.
type cursor struct {
	operation string
	read      int
}

// newlyEnded returns the steps that ended since the last call. For a new operator those count as read that ended before the
// newest time in status.
func (c *cursor) newlyEnded(reported lcav1.IPConfigStatus, p ipconfig.Progress) []flow.StepRecord {
	if p.Operation == "" {
		return nil
	}
	if c.operation != p.Operation {
		read, _ := slices.BinarySearchFunc(p.Timeline, newestTime(reported), func(s flow.StepRecord, t time.Time) int {
			return s.Ended.Compare(t)
		})
		*c = cursor{operation: p.Operation, read: read}
	}
	from := min(c.read, len(p.Timeline))
	c.read = len(p.Timeline)
	return p.Timeline[from:]
}

func newestTime(s lcav1.IPConfigStatus) (newest time.Time) {
	if s.Step != nil && s.Step.StartTime != nil {
		newest = s.Step.StartTime.Time
	}
	for _, c := range s.Conditions {
		if c.Type != lcav1.ConditionNodeObserved && c.LastTransitionTime.After(newest) { // that one changes at any time
			newest = c.LastTransitionTime.Time
		}
	}
	return newest
}
