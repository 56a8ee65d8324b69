// Package status is how controllers report: conditions, what blocks, events, and one patch. It knows no kind.
package status

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Conditions is status.conditions while it is computed. The last one is the newest: a condition that changes in any way
// moves to the end.
type Conditions struct {
	Items      []metav1.Condition
	generation int64
	now        time.Time
}

// NewConditions takes conditions over, all of them as observed at the generation.
func NewConditions(items []metav1.Condition, generation int64, now time.Time) *Conditions {
	for i := range items {
		items[i].ObservedGeneration = generation
	}
	return KeepConditions(items, generation, now)
}

// KeepConditions takes conditions over, each with the generation that it was observed at.
func KeepConditions(items []metav1.Condition, generation int64, now time.Time) *Conditions {
	return &Conditions{Items: items, generation: generation, now: now}
}

// Set adds or updates a condition. The transition time changes with the status only.
func (l *Conditions) Set(kind string, status metav1.ConditionStatus, reason, message string) {
	changed := meta.SetStatusCondition(&l.Items, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: Clip(message),
		LastTransitionTime: metav1.NewTime(l.now.Truncate(time.Second)), ObservedGeneration: l.generation})
	if changed {
		newest := *meta.FindStatusCondition(l.Items, kind)
		l.Drop(kind)
		l.Items = append(l.Items, newest)
	}
}

// Drop removes conditions.
func (l *Conditions) Drop(kinds ...string) {
	for _, kind := range kinds {
		meta.RemoveStatusCondition(&l.Items, kind)
	}
}

// DropReason removes every condition with the reason, except the one kept and what sums up.
func (l *Conditions) DropReason(reason, except string) {
	l.Items = slices.DeleteFunc(l.Items, func(c metav1.Condition) bool {
		return c.Reason == reason && c.Type != except && !isSummary(c)
	})
}

// Message is what the condition says; empty where there is none.
func (l *Conditions) Message(kind string) string {
	if c := meta.FindStatusCondition(l.Items, kind); c != nil {
		return c.Message
	}
	return ""
}

// Changed lists the conditions whose status or reason is new, without those that sum up. A new message alone is no change.
func Changed(before, after []metav1.Condition) []metav1.Condition {
	var changed []metav1.Condition
	for _, c := range after {
		if isSummary(c) {
			continue
		}
		if was := meta.FindStatusCondition(before, c.Type); was == nil || was.Status != c.Status || was.Reason != c.Reason {
			changed = append(changed, c)
		}
	}
	return changed
}

// maxMessage bounds a message, in bytes; the API allows 32 KiB, a person reads less.
const maxMessage = 4096

// Clip makes a message one line of bounded length.
func Clip(message string) string { return clip(message, maxMessage) }

func clip(text string, limit int) string {
	text = OneLine(text)
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len("...")], "") + "..."
}

// OneLine joins the lines of an error.
func OneLine(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\n", "; ") }
