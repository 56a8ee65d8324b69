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

// notice is one Kubernetes Event on the IPConfig. Events that agree in kind, reason and
// action are counted as one and keep the first note, so the action tells steps apart.
type notice struct {
	kind, reason, action, note string
}

// maxNote is what events.k8s.io/v1 allows for a note, in bytes.
const maxNote = 1024

// announce emits an event for each condition that changed its word, and each
// step that ended since status was last written.
func (r *Reconciler) announce(before, after *lcav1.IPConfig, o observation) {
	for _, s := range r.news.fresh(before.Status, o.progress) {
		r.emit(after, stepEvent(s))
	}
	if o.progress.Rollback.Begun && r.returned != o.progress.Operation {
		r.returned = o.progress.Operation
		r.emit(after, rollbackEvent(o.progress.Cause))
	}
	for _, c := range changedConditions(before.Status.Conditions, after.Status.Conditions) {
		r.emit(after, conditionEvent(c))
	}
}

func (r *Reconciler) emit(on *lcav1.IPConfig, e notice) {
	note := oneLine(e.note)
	if len(note) > maxNote {
		note = string([]rune(note[:maxNote-4])) + "..."
	}
	r.Log.Info("event", "reason", e.reason, "note", note, "op", on.Status.OperationID)
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
	took, action := s.Took.Round(time.Second/10), s.Flow+"/"+s.Step
	switch s.Kind {
	case flow.KindFailed, flow.KindUndoFailed:
		note := fmt.Sprintf("%s: %s failed after %s: %s", s.Flow, s.Step, took, s.Error)
		return notice{corev1.EventTypeWarning, "StepFailed", action, note}
	case flow.KindUndone:
		return notice{corev1.EventTypeWarning, "StepUndone", action, fmt.Sprintf("%s: %s was taken back in %s", s.Flow, s.Step, took)}
	}
	return notice{corev1.EventTypeNormal, "StepCompleted", action, fmt.Sprintf("%s: %s (%s) took %s", s.Flow, s.Step, s.Title, took)}
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

func observationFailed(err error) notice {
	return notice{corev1.EventTypeWarning, "ObservationFailed", "Observe", "The node can not be observed, trying again: " + err.Error()}
}
