package health_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	relocation "github.com/lifecycle-agent/lifecycle-agent/api/relocation/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
)

// compute judges an object as Flux, Helm and kubectl's plugins do, which know no kind of this product.
func compute(t *testing.T, object any) kstatus.Status {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	require.NoError(t, err)
	result, err := kstatus.Compute(&unstructured.Unstructured{Object: content})
	require.NoError(t, err)
	return result.Status
}

// TestKstatusReadsTheSummary: the two conditions that sum up, and the generation that was seen, say all of it.
func TestKstatusReadsTheSummary(t *testing.T) {
	for name, c := range map[string]struct {
		seen    int64
		summary string
		want    kstatus.Status
	}{
		"not seen yet":       {-1, "", kstatus.InProgressStatus},
		"an older spec seen": {1, "", kstatus.InProgressStatus},
		"settled":            {2, "", kstatus.CurrentStatus},
		"under way":          {2, lcav1.ConditionReconciling, kstatus.InProgressStatus},
		"failed":             {2, lcav1.ConditionStalled, kstatus.FailedStatus},
	} {
		meta := metav1.ObjectMeta{Name: "one", Generation: 2}
		idle := is(lcav1.ConditionIdle, no, lcav1.ReasonConfigurationInProgress, "m")
		conditions := []metav1.Condition{idle}
		var network []nmstatev1.Condition
		if c.summary != "" {
			conditions = []metav1.Condition{is(c.summary, yes, "Because", "m"), idle}
			network = []nmstatev1.Condition{{Type: c.summary, Status: yes, Reason: "Because"}}
		}
		for kind, o := range map[string]any{
			"IPConfig":          &lcav1.IPConfig{ObjectMeta: meta, Status: lcav1.IPConfigStatus{ObservedGeneration: c.seen, Conditions: conditions}},
			"SeedGenerator":     &lcav1.SeedGenerator{ObjectMeta: meta, Status: lcav1.SeedGeneratorStatus{ObservedGeneration: c.seen, Conditions: conditions}},
			"ClusterRelocation": &relocation.ClusterRelocation{ObjectMeta: meta, Status: relocation.ClusterRelocationStatus{ObservedGeneration: c.seen, Conditions: conditions}},
			"IPPool":            &metal3.IPPool{ObjectMeta: meta, Status: metal3.IPPoolStatus{ObservedGeneration: c.seen, Conditions: conditions}},
			"policy": &nmstatev1.NodeNetworkConfigurationPolicy{ObjectMeta: meta,
				Status: nmstatev1.NodeNetworkConfigurationPolicyStatus{ObservedGeneration: c.seen, Conditions: network}},
		} {
			require.Equal(t, c.want, compute(t, o), "%s, %s", kind, name)
		}
	}
}

// TestKstatusOfNetworkPolicies: every state that the roll-out writes, judged right.
func TestKstatusOfNetworkPolicies(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	policy := func(conditions []nmstatev1.Condition) kstatus.Status {
		return compute(t, &nmstatev1.NodeNetworkConfigurationPolicy{
			Status: nmstatev1.NodeNetworkConfigurationPolicyStatus{Conditions: condition.Summarize(conditions, now)}})
	}
	for state, want := range map[condition.PolicyState]kstatus.Status{
		condition.PolicyUnknown: kstatus.InProgressStatus, condition.PolicyProgressing: kstatus.InProgressStatus,
		condition.PolicyAvailable: kstatus.CurrentStatus, condition.PolicyFailed: kstatus.FailedStatus, condition.PolicyIgnored: kstatus.CurrentStatus,
	} {
		require.Equal(t, want, policy(condition.SetPolicy(nil, state, "m", now)), state)
	}
	conflict := nmstatev1.Condition{Type: nmstatev1.PolicyConflicting, Status: yes, Message: "another wants it"}
	require.Equal(t, kstatus.FailedStatus, policy(append(condition.SetPolicy(nil, condition.PolicyAvailable, "m", now), conflict)))
	for accepted, want := range map[metav1.ConditionStatus]kstatus.Status{yes: kstatus.CurrentStatus, no: kstatus.FailedStatus} {
		require.Equal(t, want, policy([]nmstatev1.Condition{{Type: nmstatev1.PolicyAccepted, Status: accepted}}), accepted)
	}
	for state, want := range map[condition.State]kstatus.Status{
		condition.Unknown: kstatus.InProgressStatus, condition.Pending: kstatus.InProgressStatus, condition.Progressing: kstatus.InProgressStatus,
		condition.Retrying: kstatus.InProgressStatus, condition.Failed: kstatus.FailedStatus, condition.Available: kstatus.CurrentStatus,
		condition.Aborted: kstatus.FailedStatus,
	} {
		conditions := condition.Summarize(condition.SetEnactment(nil, state, "m", now), now)
		require.Equal(t, want, compute(t, &v1beta1.NodeNetworkConfigurationEnactment{
			Status: v1beta1.NodeNetworkConfigurationEnactmentStatus{Conditions: conditions}}), state)
	}
}
