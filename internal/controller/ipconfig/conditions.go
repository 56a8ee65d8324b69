package ipconfig

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
)

// conditionList is status.conditions while it is computed. The last one is the
// newest: a condition that changes in any way moves to the end.
type conditionList struct {
	items      []metav1.Condition
	generation int64
	now        time.Time
}

func (l *conditionList) find(kind string) *metav1.Condition {
	for i := range l.items {
		if l.items[i].Type == kind {
			return &l.items[i]
		}
	}
	return nil
}

// set brings one condition about. The transition time changes with the status only.
func (l *conditionList) set(kind string, status metav1.ConditionStatus, reason, message string) {
	next := metav1.Condition{Type: kind, Status: status, Reason: reason, Message: clip(message),
		LastTransitionTime: metav1.NewTime(l.now.Truncate(time.Second)), ObservedGeneration: l.generation}
	if old := l.find(kind); old != nil {
		if old.Status == status && old.Reason == reason && old.Message == next.Message {
			return
		}
		if old.Status == status {
			next.LastTransitionTime = old.LastTransitionTime
		}
	}
	l.drop(kind)
	l.items = append(l.items, next)
}

// drop removes conditions that no longer say anything.
func (l *conditionList) drop(kinds ...string) {
	l.items = slices.DeleteFunc(l.items, func(c metav1.Condition) bool { return slices.Contains(kinds, c.Type) })
}

// dropReason removes every condition with the reason, except the one kept.
func (l *conditionList) dropReason(reason, except string) {
	l.items = slices.DeleteFunc(l.items, func(c metav1.Condition) bool { return c.Reason == reason && c.Type != except })
}

// maxMessage bounds a condition's message, in bytes; the API allows 32 KiB, a person reads less.
const maxMessage = 4096

func clip(message string) string {
	message = oneLine(message)
	if len(message) <= maxMessage {
		return message
	}
	return string([]rune(message[:maxMessage-4])) + "..."
}

// oneLine joins the lines of an error: what shows it has one line for it.
func oneLine(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\n", "; ") }

func isTrue(conds []metav1.Condition, kind string) bool {
	return slices.ContainsFunc(conds, func(c metav1.Condition) bool { return c.Type == kind && c.Status == metav1.ConditionTrue })
}

// ended says that the type has a final word of its stage, success or failure.
func ended(conds []metav1.Condition, kind string) (success, known bool) {
	for _, c := range conds {
		if c.Type == kind {
			return c.Status == metav1.ConditionTrue, true
		}
	}
	return false, false
}

// inProgressType is the condition that tells of a stage being under way.
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
