package seedgen

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
)

// publisher is how far the timeline of an operation was published. A new agent begins anew: what is then published twice is
// one event all the same.
type publisher struct {
	operation string
	read      int
}

// publishEvent publishes an event on the object, which may be missing.
func (r *Reconciler) publishEvent(ctx context.Context, on *lcav1.SeedGenerator, e status.Event) {
	kind.Publish(ctx, status.Recorder{Client: r.Client, Log: r.Log}, on, e)
}

// publishChanges publishes each step that ended, a phase that began, and each condition that changed.
func (r *Reconciler) publishChanges(ctx context.Context, before, after *lcav1.SeedGenerator, o observation) {
	if r.published.operation != o.progress.Operation {
		r.published = publisher{operation: o.progress.Operation}
	}
	timeline := o.progress.Timeline
	for _, s := range timeline[min(r.published.read, len(timeline)):] {
		r.publishEvent(ctx, after, stepEvent(s))
	}
	r.published.read = len(timeline)
	if s := after.Status.Step; s != nil && before.Status.Phase != after.Status.Phase {
		r.publishEvent(ctx, after, status.Event{Type: corev1.EventTypeNormal, Reason: "Phase" + s.Name, Action: "Generate",
			Note: fmt.Sprintf("Phase %s (%d of %d): %s", s.Name, s.Index, s.Total, s.Message), At: s.StartTime.Time})
	}
	for _, c := range status.Changed(before.Status.Conditions, after.Status.Conditions) {
		severity := corev1.EventTypeNormal
		switch c.Reason {
		case lcav1.ReasonFailed, lcav1.ReasonReimported, lcav1.ReasonNotReattached, lcav1.ReasonNotObserved:
			severity = corev1.EventTypeWarning
		}
		r.publishEvent(ctx, after, status.Event{Type: severity, Reason: c.Type + c.Reason, Action: "Generate", Note: c.Message,
			At: c.LastTransitionTime.Time})
	}
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
