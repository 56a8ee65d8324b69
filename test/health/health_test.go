package health_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	lua "github.com/yuin/gopher-lua"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	relocation "github.com/lifecycle-agent/lifecycle-agent/api/relocation/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/fleet/health"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
)

const (
	yes, no     = metav1.ConditionTrue, metav1.ConditionFalse
	healthy     = "Healthy"
	progressing = "Progressing"
	degraded    = "Degraded"
	suspended   = "Suspended"
)

// judge runs the check of a kind as Argo CD does: with the base and the table library alone.
func judge(t *testing.T, kind string, object any) (status, message string) {
	t.Helper()
	checks, err := health.Checks()
	require.NoError(t, err)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	require.NoError(t, err)
	for _, c := range checks {
		if c.Kind != kind {
			continue
		}
		l := lua.NewState(lua.Options{SkipOpenLibs: true})
		defer l.Close()
		for name, open := range map[string]lua.LGFunction{lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
			require.NoError(t, l.CallByParam(lua.P{Fn: l.NewFunction(open), Protect: true}, lua.LString(name)))
		}
		l.SetGlobal("obj", value(l, content))
		require.NoError(t, l.DoString(c.Script))
		result, ok := l.Get(-1).(*lua.LTable)
		require.True(t, ok, "the check returns a table")
		return lua.LVAsString(result.RawGetString("status")), lua.LVAsString(result.RawGetString("message"))
	}
	t.Fatalf("there is no check of %s", kind)
	return "", ""
}

func value(l *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case map[string]any:
		out := l.NewTable()
		for k, one := range v {
			out.RawSetString(k, value(l, one))
		}
		return out
	case []any:
		out := l.NewTable()
		for _, one := range v {
			out.Append(value(l, one))
		}
		return out
	case string:
		return lua.LString(v)
	case bool:
		return lua.LBool(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	}
	return lua.LNil
}

func is(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: 2}
}

func TestIPConfig(t *testing.T) {
	moving := is(lcav1.ConditionIdle, no, lcav1.ReasonConfigurationInProgress, "changing")
	for _, c := range []struct {
		name, want, message string
		stage               lcav1.IPConfigStage
		observed            int64
		conditions          []metav1.Condition
	}{
		{"no status", progressing, "The agent has not reported yet", lcav1.StageIdle, 0, nil},
		{"idle", healthy, "idle", lcav1.StageIdle, 2, []metav1.Condition{is(lcav1.ConditionIdle, yes, lcav1.ReasonIdle, "idle")}},
		{"not observed", progressing, "The agent has not observed the latest spec yet", lcav1.StageConfig, 1,
			[]metav1.Condition{is(lcav1.ConditionIdle, yes, lcav1.ReasonIdle, "idle")}},
		{"blocked", progressing, "an upgrade runs", lcav1.StageConfig, 2, []metav1.Condition{is(lcav1.ConditionIdle, yes, lcav1.ReasonIdle, "idle"),
			is(lcav1.ConditionConfigInProgress, no, lcav1.ReasonBlocked, "an upgrade runs")}},
		{"refused", degraded, "invalid stage", lcav1.StageRollback, 2, []metav1.Condition{
			is(lcav1.ConditionRollbackInProgress, no, lcav1.ReasonInvalidTransition, "invalid stage"), is(lcav1.ConditionIdle, yes, lcav1.ReasonIdle, "idle")}},
		{"changing", progressing, "step 3", lcav1.StageConfig, 2, []metav1.Condition{moving,
			is(lcav1.ConditionConfigInProgress, yes, lcav1.ReasonInProgress, "step 3")}},
		{"changed", healthy, "done", lcav1.StageConfig, 2, []metav1.Condition{moving,
			is(lcav1.ConditionConfigInProgress, no, lcav1.ReasonCompleted, "done"), is(lcav1.ConditionConfigCompleted, yes, lcav1.ReasonCompleted, "done")}},
		{"failed", degraded, "the gateway is silent", lcav1.StageConfig, 2, []metav1.Condition{moving,
			is(lcav1.ConditionConfigInProgress, no, lcav1.ReasonFailed, "x"), is(lcav1.ConditionConfigCompleted, no, lcav1.ReasonFailed, "the gateway is silent")}},
		{"rolling back", progressing, "going", lcav1.StageRollback, 2, []metav1.Condition{moving,
			is(lcav1.ConditionConfigCompleted, yes, lcav1.ReasonCompleted, "x"), is(lcav1.ConditionRollbackInProgress, yes, lcav1.ReasonInProgress, "going")}},
		{"rolled back on request", healthy, "back", lcav1.StageRollback, 2, []metav1.Condition{is(lcav1.ConditionRollbackCompleted, yes, lcav1.ReasonCompleted, "back")}},
		{"rolled back by itself", degraded, "back", lcav1.StageConfig, 2, []metav1.Condition{is(lcav1.ConditionRollbackCompleted, yes, lcav1.ReasonCompleted, "back")}},
		{"rollback failed", degraded, "no", lcav1.StageRollback, 2, []metav1.Condition{is(lcav1.ConditionRollbackCompleted, no, lcav1.ReasonFailed, "no")}},
		{"becoming idle", progressing, "cleaning", lcav1.StageIdle, 2, []metav1.Condition{is(lcav1.ConditionIdle, no, lcav1.ReasonInProgress, "cleaning")}},
	} {
		o := &lcav1.IPConfig{ObjectMeta: metav1.ObjectMeta{Name: lcav1.IPConfigName, Generation: 2}, Spec: lcav1.IPConfigSpec{Stage: c.stage},
			Status: lcav1.IPConfigStatus{ObservedGeneration: c.observed, Conditions: c.conditions}}
		status, message := judge(t, "IPConfig", o)
		require.Equal(t, c.want, status, c.name)
		require.Equal(t, c.message, message, c.name)
	}
}

func TestSeedGenerator(t *testing.T) {
	for _, c := range []struct {
		name, want string
		observed   int64
		conditions []metav1.Condition
	}{
		{"no status", progressing, 2, nil},
		{"not observed", progressing, 1, []metav1.Condition{is(lcav1.ConditionSeedGenCompleted, yes, lcav1.ReasonCompleted, "x")}},
		{"running", progressing, 2, []metav1.Condition{is(lcav1.ConditionHubDetached, yes, lcav1.ReasonDetached, "x"),
			is(lcav1.ConditionSeedGenInProgress, yes, lcav1.ReasonInProgress, "x")}},
		{"done", healthy, 2, []metav1.Condition{is(lcav1.ConditionHubDetached, no, lcav1.ReasonReattached, "x"),
			is(lcav1.ConditionSeedGenInProgress, no, lcav1.ReasonCompleted, "x"), is(lcav1.ConditionSeedGenCompleted, yes, lcav1.ReasonCompleted, "x")}},
		{"failed", degraded, 2, []metav1.Condition{is(lcav1.ConditionSeedGenCompleted, no, lcav1.ReasonFailed, "x")}},
		{"not given back", degraded, 2, []metav1.Condition{is(lcav1.ConditionHubDetached, yes, lcav1.ReasonNotReattached, "x"),
			is(lcav1.ConditionSeedGenCompleted, yes, lcav1.ReasonCompleted, "x")}},
	} {
		o := &lcav1.SeedGenerator{ObjectMeta: metav1.ObjectMeta{Generation: 2},
			Status: lcav1.SeedGeneratorStatus{ObservedGeneration: c.observed, Conditions: c.conditions}}
		status, _ := judge(t, "SeedGenerator", o)
		require.Equal(t, c.want, status, c.name)
	}
}

// The conditions are those that the roll-out itself writes.
func TestNodeNetworkConfigurationPolicy(t *testing.T) {
	policy := func(conditions []nmstatev1.Condition) *nmstatev1.NodeNetworkConfigurationPolicy {
		return &nmstatev1.NodeNetworkConfigurationPolicy{Status: nmstatev1.NodeNetworkConfigurationPolicyStatus{Conditions: conditions}}
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for state, want := range map[condition.PolicyState]string{
		condition.PolicyUnknown: progressing, condition.PolicyProgressing: progressing, condition.PolicyAvailable: healthy,
		condition.PolicyFailed: degraded, condition.PolicyIgnored: healthy,
	} {
		status, _ := judge(t, "NodeNetworkConfigurationPolicy", policy(condition.SetPolicy(nil, state, "m", now)))
		require.Equal(t, want, status, state)
	}
	status, _ := judge(t, "NodeNetworkConfigurationPolicy", policy(nil))
	require.Equal(t, progressing, status, "no status")
	available := condition.SetPolicy(nil, condition.PolicyAvailable, "m", now)
	conflict := nmstatev1.Condition{Type: nmstatev1.PolicyConflicting, Status: yes, Message: "another wants it"}
	status, message := judge(t, "NodeNetworkConfigurationPolicy", policy(append(available, conflict)))
	require.Equal(t, degraded, status)
	require.Equal(t, "another wants it", message)
	for accepted, want := range map[metav1.ConditionStatus]string{yes: healthy, no: degraded} {
		status, _ := judge(t, "NodeNetworkConfigurationPolicy", policy([]nmstatev1.Condition{{Type: nmstatev1.PolicyAccepted, Status: accepted}}))
		require.Equal(t, want, status, "for pools: %s", accepted)
	}
	paused := policy(available)
	paused.Annotations = map[string]string{nmstatev1.PausedAnnotation: "true"}
	status, _ = judge(t, "NodeNetworkConfigurationPolicy", paused)
	require.Equal(t, suspended, status)
}

func TestClusterRelocation(t *testing.T) {
	ready := is(relocation.ConditionReady, yes, "Valid", "x")
	for _, c := range []struct {
		name, want string
		conditions []metav1.Condition
	}{
		{"no status", progressing, nil},
		{"invalid", degraded, []metav1.Condition{is(relocation.ConditionReady, no, "ValidationFailed", "x"), is(relocation.ConditionReconciled, no, "ValidationFailed", "x")}},
		{"in place", healthy, []metav1.Condition{ready, is(relocation.ConditionReconciled, yes, "Reconciled", "x")}},
		{"a part waits", progressing, []metav1.Condition{ready, is("DNS", no, "Waiting", "x"), is(relocation.ConditionReconciled, no, "ReconciliationFailed", "x")}},
		{"a part failed", degraded, []metav1.Condition{ready, is("DNS", no, "Waiting", "x"), is("API", no, "ReconciliationFailed", "x"),
			is(relocation.ConditionReconciled, no, "ReconciliationFailed", "x")}},
	} {
		o := &relocation.ClusterRelocation{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Status: relocation.ClusterRelocationStatus{Conditions: c.conditions}}
		status, _ := judge(t, "ClusterRelocation", o)
		require.Equal(t, c.want, status, c.name)
	}
	o := &relocation.ClusterRelocation{ObjectMeta: metav1.ObjectMeta{Generation: 3}, Status: relocation.ClusterRelocationStatus{
		Conditions: []metav1.Condition{ready, is(relocation.ConditionReconciled, yes, "Reconciled", "x")}}}
	status, _ := judge(t, "ClusterRelocation", o)
	require.Equal(t, progressing, status, "not observed")
	o.DeletionTimestamp = &metav1.Time{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	status, _ = judge(t, "ClusterRelocation", o)
	require.Equal(t, progressing, status, "being deleted")
}

func TestIPPool(t *testing.T) {
	for _, c := range []struct {
		reason, want string
		status       metav1.ConditionStatus
	}{
		{metal3.ReasonAvailable, healthy, yes}, {metal3.ReasonExhausted, degraded, no}, {metal3.ReasonInvalid, degraded, no},
		{metal3.ReasonOverlap, degraded, no}, {metal3.ReasonOutOfRange, degraded, no}, {metal3.ReasonPaused, suspended, no},
		{metal3.ReasonDeleting, progressing, no},
	} {
		o := &metal3.IPPool{Status: metal3.IPPoolStatus{Conditions: []metav1.Condition{is(metal3.ConditionReady, c.status, c.reason, "x")}}}
		status, _ := judge(t, "IPPool", o)
		require.Equal(t, c.want, status, c.reason)
	}
	status, _ := judge(t, "IPPool", &metal3.IPPool{})
	require.Equal(t, progressing, status)
	status, _ = judge(t, "IPPool", &metal3.IPPool{Status: metal3.IPPoolStatus{LastUpdated: &metav1.Time{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}}})
	require.Equal(t, healthy, status, "metal3's own controller writes no condition")
}

func TestTheConfigMapHasTheKeysOfArgoCD(t *testing.T) {
	m, err := health.ConfigMap("openshift-gitops")
	require.NoError(t, err)
	require.Equal(t, "argocd-cm", m.Name)
	require.Equal(t, "openshift-gitops", m.Namespace)
	require.Len(t, m.Data, 5)
	require.Contains(t, m.Data, "resource.customizations.health.lca.openshift.io_IPConfig")
	require.Contains(t, m.Data, "resource.customizations.health.rhsyseng.github.io_ClusterRelocation")
}
