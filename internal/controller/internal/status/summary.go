package status

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
)

// Summary is what an object comes to.
type Summary string

// The summaries. Settled is neither of the conditions.
const (
	Settled     Summary = ""
	Reconciling Summary = lcav1.ConditionReconciling
	Stalled     Summary = lcav1.ConditionStalled
)

// Summarize sets the condition of a summary, at the beginning of the list, and drops the other one.
func (l *Conditions) Summarize(s Summary, reason, message string) {
	for _, kind := range []string{lcav1.ConditionReconciling, lcav1.ConditionStalled} {
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
	return c.Type == lcav1.ConditionReconciling || c.Type == lcav1.ConditionStalled
}
