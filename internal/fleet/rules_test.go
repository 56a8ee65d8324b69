package fleet_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
)

const (
	deadline = 2 * time.Minute
	tick     = 50 * time.Millisecond
)

// conditionRules are the expressions of a rendered ManifestWork for an IPConfig, by condition.
func conditionRules(t *testing.T) map[string]string {
	t.Helper()
	made, err := sites(t, "cluster,ipv4Address\na,192.0.2.10\n")
	require.NoError(t, err)
	files, err := rollout().Works(made)
	require.NoError(t, err)
	configs, _, err := unstructured.NestedSlice(objects(t, files)[0].Object, "spec", "manifestConfigs")
	require.NoError(t, err)
	out := map[string]string{}
	for _, rule := range configs[0].(map[string]any)["conditionRules"].([]any) {
		r := rule.(map[string]any)
		out[r["condition"].(string)] = r["celExpressions"].([]any)[0].(string)
	}
	return out
}

// admitsBy has the API server admit an IPConfig exactly where the expression is true of it, until the test ends.
func admitsBy(t *testing.T, s *apitest.Server, name, expression string) {
	t.Helper()
	fail := admissionv1.Fail
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		FailurePolicy: &fail, Validations: []admissionv1.Validation{{Expression: expression, Message: name + " is false"}},
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
			Rule:       admissionv1.Rule{APIGroups: []string{"lca.openshift.io"}, APIVersions: []string{"v1"}, Resources: []string{"ipconfigs", "ipconfigs/status"}}}}}}}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}}}
	require.NoError(t, s.Client.Create(t.Context(), policy))
	require.NoError(t, s.Client.Create(t.Context(), binding))
	t.Cleanup(func() {
		require.NoError(t, s.Client.Delete(context.Background(), binding))
		require.NoError(t, s.Client.Delete(context.Background(), policy))
	})
}

// The API server evaluates the expressions as the work agent does: with the object as "object".
func TestConditionsOfAWorkFollowTheObject(t *testing.T) {
	s := server(t)
	s.DeleteIPConfig(t)
	ipc := &lcav1.IPConfig{ObjectMeta: metav1.ObjectMeta{Name: lcav1.IPConfigName}, Spec: lcav1.IPConfigSpec{Stage: lcav1.StageIdle}}
	require.NoError(t, s.Client.Create(t.Context(), ipc))
	states := map[string]metav1.ConditionStatus{"changing": "", "changed": metav1.ConditionTrue, "failed": metav1.ConditionFalse}
	admitted := func(state string) bool {
		o := ipc.DeepCopy()
		o.Status.Conditions = []metav1.Condition{{Type: lcav1.ConditionIdle, Status: metav1.ConditionFalse, Reason: "X", LastTransitionTime: metav1.Now()}}
		if status := states[state]; status != "" {
			o.Status.Conditions = append(o.Status.Conditions, metav1.Condition{Type: lcav1.ConditionConfigCompleted, Status: status, Reason: "X", LastTransitionTime: metav1.Now()})
		}
		return s.Client.Status().Update(context.Background(), o, client.DryRunAll) == nil
	}
	bare := func() bool { // an object without status
		o := ipc.DeepCopy()
		o.Labels = map[string]string{"probe": "yes"}
		return s.Client.Update(context.Background(), o, client.DryRunAll) == nil
	}
	want := map[string]map[string]bool{
		"Progressing": {"": true, "changing": true, "changed": false, "failed": true},
		"Degraded":    {"": false, "changing": false, "changed": false, "failed": true},
		"Complete":    {"": false, "changing": false, "changed": true, "failed": false},
	}
	rules := conditionRules(t)
	require.Len(t, rules, len(want))
	for condition, expected := range want {
		t.Run(condition, func(t *testing.T) {
			refused := "changed"
			if condition == "Complete" {
				refused = "failed"
			}
			require.True(t, admitted(refused), "no policy of an earlier case is in force")
			// Runs last, when the policy is deleted.
			t.Cleanup(func() {
				require.Eventually(t, func() bool { return admitted("changing") && admitted("changed") && admitted("failed") }, deadline, tick)
			})
			admitsBy(t, s, "rule-"+map[string]string{"Progressing": "p", "Degraded": "d", "Complete": "c"}[condition], rules[condition])
			require.Eventually(t, func() bool { return !admitted(refused) }, deadline, tick, "the policy is in force")
			for state, is := range expected {
				if state == "" {
					require.Equal(t, is, bare(), "no status")
				} else {
					require.Equal(t, is, admitted(state), state)
				}
			}
		})
	}
}
