package status

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Conditions that sum up an object for programs that know no kind: kubectl wait, Flux, Helm and Argo CD judge by them (kstatus, of
// sigs.k8s.io/cli-utils). Each is there while it is True. Where neither is, and status.observedGeneration is the object's generation,
// what was asked for is done.
const (
	// ConditionReconciling: the object changes, or waits for something that comes by itself.
	ConditionReconciling = "Reconciling"
	// ConditionStalled: it has failed, or waits for a person.
	ConditionStalled = "Stalled"
)

// Summary is what an object comes to.
type Summary string

// The summaries. Settled is neither of the conditions.
const (
	Settled     Summary = ""
	Reconciling Summary = ConditionReconciling
	Stalled     Summary = ConditionStalled
)

// Summarize sets the condition of a summary, at the beginning of the list, and drops the other one.
func (l *Conditions) Summarize(s Summary, reason, message string) {
	for _, kind := range []string{ConditionReconciling, ConditionStalled} {
		if kind != string(s) {
			l.Drop(kind)
		}
	}
	if s != Settled {
		l.SetFirst(metav1.Condition{Type: string(s), Status: metav1.ConditionTrue, Reason: reason, Message: Clip(message)})
	}
}

// SetFirst sets a condition at the beginning of the list, of which the end shows the operation.
func (l *Conditions) SetFirst(c metav1.Condition) {
	c.ObservedGeneration, c.LastTransitionTime = l.generation, metav1.NewTime(l.now.Truncate(time.Second))
	if was := meta.FindStatusCondition(l.Items, c.Type); was != nil && was.Status == c.Status {
		c.LastTransitionTime = was.LastTransitionTime
	}
	l.Drop(c.Type)
	l.Items = slices.Insert(l.Items, 0, c)
}

// isSummary says that a condition repeats what others say.
func isSummary(c metav1.Condition) bool {
	return c.Type == ConditionReconciling || c.Type == ConditionStalled
}
