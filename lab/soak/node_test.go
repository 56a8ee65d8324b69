package soak

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
)

func TestLastBefore(t *testing.T) {
	const journals = `{"time":"2026-01-01T10:00:01Z","flow":"pre-pivot","kind":"intent","step":"seal"}
{"time":"2026-01-01T10:00:03Z","flow":"post-pivot","kind":"intent","step":"check-seal"}
{"time":"2026-01-01T10:00:02Z","flow":"pre-pivot","kind":"finished"}
half a li`
	at := func(second int) time.Time { return time.Date(2026, 1, 1, 10, 0, second, 0, time.UTC) }
	for _, c := range []struct {
		name, want string
		moment     time.Time
	}{
		{"before all", "before the first step", at(0)},
		{"in a step", "pre-pivot seal intent", at(1)},
		{"an entry without a step", "pre-pivot  finished", at(2)},
		{"in the other stateroot's journal", "post-pivot check-seal intent", at(9)},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, lastBefore(journals, c.moment)) })
	}
}

func TestAtRest(t *testing.T) {
	for _, c := range []struct {
		name      string
		stage     lcav1.IPConfigStage
		condition metav1.Condition
		observed  int64
		next      []lcav1.IPConfigStage
		want      bool
	}{
		{"idle", lcav1.StageIdle, metav1.Condition{Type: lcav1.ConditionIdle, Status: "True"}, 2, []lcav1.IPConfigStage{lcav1.StageConfig}, true},
		{"request not seen yet", lcav1.StageIdle, metav1.Condition{Type: lcav1.ConditionIdle, Status: "True"}, 1, []lcav1.IPConfigStage{lcav1.StageConfig}, false},
		{"under way", lcav1.StageConfig, metav1.Condition{Type: lcav1.ConditionConfigCompleted, Status: "False", Reason: "InProgress"}, 2, []lcav1.IPConfigStage{lcav1.StageIdle}, false},
		{"given up", lcav1.StageConfig, metav1.Condition{Type: lcav1.ConditionConfigCompleted, Status: "False", Reason: lcav1.ReasonFailed}, 2, []lcav1.IPConfigStage{lcav1.StageIdle}, true},
		{"a rollback that failed goes on by itself", lcav1.StageRollback, metav1.Condition{Type: lcav1.ConditionRollbackCompleted, Status: "False", Reason: lcav1.ReasonFailed}, 2, []lcav1.IPConfigStage{lcav1.StageRollback}, false},
		{"no way out", lcav1.StageConfig, metav1.Condition{Type: lcav1.ConditionConfigCompleted, Status: "True"}, 2, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			ipc := &lcav1.IPConfig{}
			ipc.Generation, ipc.Spec.Stage = 2, c.stage
			ipc.Status = lcav1.IPConfigStatus{ObservedGeneration: c.observed, Conditions: []metav1.Condition{c.condition}, ValidNextStages: c.next}
			require.Equal(t, c.want, atRest(ipc))
		})
	}
}
