package ipconfig

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// announce tells of each condition that changed its word, and each step that ended, since status was last written.
// The first time it also tells what another operator may have written down and not told any more.
func (r *Reconciler) announce(ctx context.Context, before, after *lcav1.IPConfig, o observation) {
	for _, s := range r.news.fresh(before.Status, o.progress) {
		r.emit(ctx, after, stepEvent(s))
	}
	if back := o.progress.Rollback; back.Begun && r.returned != o.progress.Operation {
		r.returned = o.progress.Operation
		r.emit(ctx, after, rollbackEvent(o.progress))
	}
	said := before.Status.Conditions
	if !r.announced {
		said, r.announced = older(said, o.now.Add(-retold)), true
	}
	for _, c := range changedConditions(said, after.Status.Conditions) {
		r.emit(ctx, after, conditionEvent(c))
	}
}

// retold is how long after a condition changed a new operator makes sure that it was told. Events outlive that by far.
const retold = 10 * time.Minute

// older are the conditions that changed their status before t.
func older(conds []metav1.Condition, t time.Time) []metav1.Condition {
	return slices.DeleteFunc(slices.Clone(conds), func(c metav1.Condition) bool { return c.LastTransitionTime.After(t) })
}

// changedConditions are those whose status or reason is new; a message alone is no event.
func changedConditions(before, after []metav1.Condition) []metav1.Condition {
	said := map[string]string{}
	for _, c := range before {
		said[c.Type] = string(c.Status) + c.Reason
	}
	var changed []metav1.Condition
	for _, c := range after {
		if said[c.Type] != string(c.Status)+c.Reason {
			changed = append(changed, c)
		}
	}
	return changed
}

func conditionEvent(c metav1.Condition) notice {
	kind := corev1.EventTypeNormal
	switch c.Reason {
	case lcav1.ReasonFailed, lcav1.ReasonInvalidTransition, lcav1.ReasonBlocked:
		kind = corev1.EventTypeWarning
	}
	return notice{kind, c.Type + c.Reason, "ChangeStage", c.Message, c.LastTransitionTime.Time}
}

func stepEvent(s ipconfig.StepRecord) notice {
	took, action := s.Took.Round(time.Second/10), s.Flow+"/"+s.Step
	switch s.Kind {
	case flow.KindFailed, flow.KindUndoFailed:
		note := fmt.Sprintf("%s: %s failed after %s: %s", s.Flow, s.Step, took, s.Error)
		return notice{corev1.EventTypeWarning, "StepFailed", action, note, s.Ended}
	case flow.KindUndone:
		note := fmt.Sprintf("%s: %s was taken back in %s", s.Flow, s.Step, took)
		return notice{corev1.EventTypeWarning, "StepUndone", action, note, s.Ended}
	}
	note := fmt.Sprintf("%s: %s (%s) took %s", s.Flow, s.Step, s.Title, took)
	return notice{corev1.EventTypeNormal, "StepCompleted", action, note, s.Ended}
}

func rollbackEvent(p ipconfig.Progress) notice {
	note := "The node returns to its former stateroot: " + or(p.Cause, "cause unknown")
	return notice{corev1.EventTypeWarning, "Rollback", "Rollback", note, p.Rollback.Started}
}

// news remembers how far the timeline of an operation was told. After a restart that is told by status; what is then
// told twice is one event all the same.
type news struct {
	operation string
	told      int
}

// fresh returns the steps nobody has heard of. After a restart those count as told that ended
// before status had its last word.
func (n *news) fresh(reported lcav1.IPConfigStatus, p ipconfig.Progress) []ipconfig.StepRecord {
	if p.Operation == "" {
		return nil
	}
	if n.operation != p.Operation {
		told, _ := slices.BinarySearchFunc(p.Timeline, lastWord(reported), func(s ipconfig.StepRecord, t time.Time) int {
			return s.Ended.Compare(t)
		})
		*n = news{operation: p.Operation, told: told}
	}
	from := min(n.told, len(p.Timeline))
	n.told = len(p.Timeline)
	return p.Timeline[from:]
}

// lastWord is the newest time in a status.
func lastWord(s lcav1.IPConfigStatus) (newest time.Time) {
	if s.Step != nil && s.Step.StartTime != nil {
		newest = s.Step.StartTime.Time
	}
	for _, c := range s.Conditions {
		if c.LastTransitionTime.After(newest) {
			newest = c.LastTransitionTime.Time
		}
	}
	return newest
}

// observationFailed is told every ten minutes at most.
func observationFailed(err error, now time.Time) notice {
	note := "The node can not be observed, trying again: " + err.Error()
	return notice{corev1.EventTypeWarning, "ObservationFailed", "Observe", note, now.Truncate(retold)}
}
