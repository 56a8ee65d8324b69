package soak

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
)

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
