package ipconfig

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// notice is one Kubernetes Event on the IPConfig.
type notice struct {
	kind, reason, action, note string
}

// maxNote is what events.k8s.io/v1 allows for a note, in bytes.
const maxNote = 1024

// announce emits an event for each condition that changed its word, and each
// step that ended since status was last written.
func (r *Reconciler) announce(before, after *lcav1.IPConfig, o observation) {
	for _, c := range changedConditions(before.Status.Conditions, after.Status.Conditions) {
		r.emit(after, conditionEvent(c))
	}
	for _, s := range r.news.fresh(before.Status.Step, o.progress) {
		r.emit(after, stepEvent(s))
	}
	if o.progress.Rollback.Begun && (before.Status.Step == nil || before.Status.Step.Name != after.Status.Step.Name) {
		r.emit(after, rollbackEvent(o.progress.Cause))
	}
}

func (r *Reconciler) emit(on *lcav1.IPConfig, e notice) {
	note := e.note
	if len(note) > maxNote {
		note = string([]rune(note[:maxNote-4])) + "..."
	}
	r.Events.Eventf(on, nil, e.kind, e.reason, e.action, "%s", note)
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
	return notice{kind, c.Type + c.Reason, "ChangeStage", c.Message}
}

func stepEvent(s ipconfig.StepRecord) notice {
	took := s.Took.Round(time.Second / 10)
	switch s.Kind {
	case flow.KindFailed, flow.KindUndoFailed:
		note := fmt.Sprintf("%s: %s failed after %s: %s", s.Flow, s.Step, took, s.Error)
		return notice{corev1.EventTypeWarning, "StepFailed", "RunStep", note}
	case flow.KindUndone:
		return notice{corev1.EventTypeWarning, "StepUndone", "RunStep", fmt.Sprintf("%s: %s was taken back in %s", s.Flow, s.Step, took)}
	}
	return notice{corev1.EventTypeNormal, "StepCompleted", "RunStep", fmt.Sprintf("%s: %s (%s) took %s", s.Flow, s.Step, s.Title, took)}
}

func rollbackEvent(cause string) notice {
	note := "The node returns to its former stateroot: " + or(cause, "cause unknown")
	return notice{corev1.EventTypeWarning, "Rollback", "Rollback", note}
}

// news remembers how far the timeline of an operation was told.
type news struct {
	operation string
	told      int
}

// fresh returns the steps nobody has heard of. After a restart those count as told that
// ended before the step which status names began.
func (n *news) fresh(reported *lcav1.StepStatus, p ipconfig.Progress) []ipconfig.StepRecord {
	if p.Operation == "" {
		return nil
	}
	if n.operation != p.Operation {
		*n = news{operation: p.Operation}
		if reported != nil && reported.StartTime != nil {
			n.told, _ = slices.BinarySearchFunc(p.Timeline, reported.StartTime.Time, func(s ipconfig.StepRecord, t time.Time) int {
				return s.Ended.Compare(t)
			})
		}
	}
	from := min(n.told, len(p.Timeline))
	n.told = len(p.Timeline)
	return p.Timeline[from:]
}

func observationFailed(err error) notice {
	return notice{corev1.EventTypeWarning, "ObservationFailed", "Observe", "The node can not be observed, trying again: " + err.Error()}
}
