package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// TestTheOperatorIsRestricted holds its pod against the strictest of Kubernetes' pod security standards, in every way to deploy it.
func TestTheOperatorIsRestricted(t *testing.T) {
	for _, folder := range []string{"operator", "default", "webhook"} {
		pod := find[appsv1.Deployment](t, folder, "Deployment", "lifecycle-agent").Spec.Template
		require.Empty(t, violations(t, api.LevelRestricted, pod), folder)
		require.True(t, *pod.Spec.Containers[0].SecurityContext.ReadOnlyRootFilesystem, folder)
		require.Equal(t, "lifecycle-agent-operator", pod.Spec.ServiceAccountName)
	}
}

// TestTheNamespaceAllowsWhatItsPodsNeed and no more: it is restricted on a cluster without the node role.
func TestTheNamespaceAllowsWhatItsPodsNeed(t *testing.T) {
	for folder, level := range map[string]api.Level{"operator": api.LevelRestricted, "default": api.LevelPrivileged, "webhook": api.LevelPrivileged} {
		labels := find[corev1.Namespace](t, folder, "Namespace", "openshift-lifecycle-agent").Labels
		for _, mode := range []string{api.EnforceLevelLabel, api.AuditLevelLabel, api.WarnLevelLabel} {
			require.Equal(t, string(level), labels[mode], "%s: %s", folder, mode)
		}
	}
	node := find[appsv1.DaemonSet](t, "default", "DaemonSet", "lifecycle-agent-node").Spec.Template
	require.NotEmpty(t, violations(t, api.LevelBaseline, node), "a node role that needs no privilege needs no such namespace")
}

// violations lists what a level forbids of a pod.
func violations(t *testing.T, level api.Level, pod corev1.PodTemplateSpec) (all []string) {
	t.Helper()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	require.NoError(t, err)
	for _, r := range evaluator.EvaluatePod(api.LevelVersion{Level: level, Version: api.LatestVersion()}, &pod.ObjectMeta, &pod.Spec) {
		if !r.Allowed {
			all = append(all, r.ForbiddenReason+": "+r.ForbiddenDetail)
		}
	}
	return all
}

// find returns one object of a folder.
func find[T any](t *testing.T, folder, kind, name string) *T {
	t.Helper()
	for _, o := range build(t, folder) {
		if o.GetKind() == kind && o.GetName() == name {
			return typed[T](t, o)
		}
	}
	t.Fatalf("config/%s has no %s %s", folder, kind, name)
	return nil
}

func typed[T any](t *testing.T, o *unstructured.Unstructured) *T {
	t.Helper()
	if same, ok := any(o).(*T); ok {
		return same
	}
	into := new(T)
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, into, true))
	return into
}
