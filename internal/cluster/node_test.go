package cluster_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
)

func TestReadyInBoot(t *testing.T) {
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue}
	down := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady", Message: "no CNI"}
	for _, c := range []struct {
		name, boot string
		conditions []corev1.NodeCondition
		says       string
	}{
		{"ready", "B", []corev1.NodeCondition{ready}, ""},
		{"ready in the boot before", "a", []corev1.NodeCondition{ready}, "has not reported node sno since this boot"},
		{"not ready", "b", []corev1.NodeCondition{down}, "node sno is not Ready: KubeletNotReady: no CNI"},
		{"silent", "b", nil, "no Ready condition"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "sno"}, Status: corev1.NodeStatus{
				NodeInfo: corev1.NodeSystemInfo{BootID: c.boot}, Conditions: c.conditions}}
			err := cluster.ReadyInBoot(n, "b")
			if c.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.says)
		})
	}
}
