package ipam

import (
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// maxNote is what events.k8s.io/v1 allows for a note, in bytes.
const maxNote = 1024

// announceClaim emits an event for a claim that got no address, and for one that did after all. A claim that is
// served at once has none: events are writes too, and there may be thousands of claims.
func (r *Reconciler) announceClaim(c *claim, v verdict) {
	old := apimeta.FindStatusCondition(c.conditions, metal3.ConditionReady)
	switch {
	case v.address == "" && (old == nil || old.Reason != v.reason):
		r.emit(c.Object, corev1.EventTypeWarning, v.reason, "Allocate", v.message)
	case v.address != "" && old != nil && old.Reason != v.reason:
		r.emit(c.Object, corev1.EventTypeNormal, v.reason, "Allocate", v.message)
	}
}

// announcePool emits an event when the word for the pool's state changes.
func (r *Reconciler) announcePool(before, after *metal3.IPPool) {
	old := apimeta.FindStatusCondition(before.Status.Conditions, metal3.ConditionReady)
	now := apimeta.FindStatusCondition(after.Status.Conditions, metal3.ConditionReady)
	if now == nil || old != nil && old.Reason == now.Reason {
		return
	}
	severity := corev1.EventTypeNormal
	if now.Reason != metal3.ReasonAvailable && now.Reason != metal3.ReasonDeleting {
		severity = corev1.EventTypeWarning
	}
	r.emit(after, severity, now.Reason, "Watch", now.Message)
}

func (r *Reconciler) emit(on runtime.Object, severity, reason, action, note string) {
	if len(note) > maxNote {
		note = string([]rune(note[:maxNote-4])) + "..."
	}
	r.Events.Eventf(on, nil, severity, reason, action, "%s", note)
}
