package ipconfig

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// Messages of NodeObserved.
const (
	msgObserved    = "The node is observed"
	msgNotObserved = "The node cannot be observed, retrying; status shows what was observed last: "
)

// reportUnobserved writes that the node cannot be observed, and nothing else: the other conditions keep the generation that they are of.
func (r *Reconciler) reportUnobserved(ctx context.Context, ipc *lcav1.IPConfig, why error) error {
	if ipc == nil {
		return nil
	}
	before := ipc.DeepCopy()
	l := &status.Conditions{Items: ipc.Status.Conditions}
	setObserved(l, ipc.Generation, r.Now(), status.OneLine(why.Error()))
	ipc.Status.Conditions, ipc.Status.ObservedGeneration = l.Items, ipc.Generation
	if equality.Semantic.DeepEqual(before.Status, ipc.Status) {
		return nil
	}
	if err := status.Patch(ctx, r.Client, before, ipc); err != nil {
		return fmt.Errorf("report that the node cannot be observed: %w", err)
	}
	return nil
}

// showObserved reports what part of the observation failed, where no stage's condition reports it, and that it succeeds again.
func showObserved(l *status.Conditions, generation int64, o observation, state ipconfig.State) {
	switch {
	case o.unobserved == nil && meta.FindStatusCondition(l.Items, lcav1.ConditionNodeObserved) != nil:
		setObserved(l, generation, o.now, "")
	case o.unobserved != nil && (state == ipconfig.StateIdle || state == ipconfig.StateNew):
		setObserved(l, generation, o.now, strings.TrimPrefix(o.unobserved.Message, msgStabilizing))
	}
}

// setObserved sets NodeObserved, False for a reason why it is not, at the beginning of the list: its end shows the stage.
func setObserved(l *status.Conditions, generation int64, now time.Time, why string) {
	c := metav1.Condition{Type: lcav1.ConditionNodeObserved, Status: metav1.ConditionTrue, Reason: lcav1.ReasonObserved,
		Message: msgObserved, ObservedGeneration: generation, LastTransitionTime: stamp(now)}
	if why != "" {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, lcav1.ReasonNotObserved, status.Clip(msgNotObserved+why)
	}
	if was := meta.FindStatusCondition(l.Items, c.Type); was != nil && was.Status == c.Status {
		c.LastTransitionTime = was.LastTransitionTime
	}
	l.Drop(c.Type)
	l.Items = slices.Insert(l.Items, 0, c)
}
