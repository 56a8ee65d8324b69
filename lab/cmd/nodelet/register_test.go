package main

import (
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func testRegistrar(t *testing.T, objects ...*corev1.Node) (*registrar, *fake.Clientset) {
	t.Helper()
	clients := fake.NewClientset()
	for _, o := range objects {
		require.NoError(t, clients.Tracker().Add(o))
	}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "etcd", Namespace: "openshift-etcd"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "etcd"}}}}
	return &registrar{clients: clients, name: "sno", ips: []netip.Addr{netip.MustParseAddr("192.0.2.10")}, log: slog.New(slog.DiscardHandler),
		pods: []staticPod{{Pod: p, file: "etcd-pod.yaml", text: []byte("one")}}, started: time.Now()}, clients
}

func TestRegisterMakesAReadyNodeWithLeaseAndMirrorPods(t *testing.T) {
	r, clients := testRegistrar(t)
	require.NoError(t, r.register(t.Context()))
	node, err := clients.CoreV1().Nodes().Get(t.Context(), "sno", metav1.GetOptions{})
	require.NoError(t, err)
	for _, role := range []string{"control-plane", "master", "worker"} {
		require.Contains(t, node.Labels, "node-role.kubernetes.io/"+role)
	}
	require.Contains(t, node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "192.0.2.10"})
	require.Equal(t, corev1.ConditionTrue, node.Status.Conditions[len(node.Status.Conditions)-1].Status)
	lease, err := clients.CoordinationV1().Leases("kube-node-lease").Get(t.Context(), "sno", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "sno", *lease.Spec.HolderIdentity)
	mirrored, err := clients.CoreV1().Pods("openshift-etcd").Get(t.Context(), "etcd-sno", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, corev1.PodRunning, mirrored.Status.Phase)
	require.Equal(t, "192.0.2.10", mirrored.Status.HostIP)
}

func TestRegisterCorrectsANodeFromBeforeTheMove(t *testing.T) {
	old := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "sno", Labels: map[string]string{"site": "north"}},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}, {Key: "mine", Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "198.51.100.7"}},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}}}
	r, clients := testRegistrar(t, old)
	require.NoError(t, r.register(t.Context()))
	node, err := clients.CoreV1().Nodes().Get(t.Context(), "sno", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "north", node.Labels["site"])
	require.Equal(t, []corev1.Taint{{Key: "mine", Effect: corev1.TaintEffectNoSchedule}}, node.Spec.Taints)
	require.Equal(t, "192.0.2.10", node.Status.Addresses[0].Address)
	require.Equal(t, corev1.ConditionTrue, node.Status.Conditions[0].Status)
}

func TestAChangedManifestReplacesItsMirror(t *testing.T) {
	r, clients := testRegistrar(t)
	require.NoError(t, r.register(t.Context()))
	before, err := clients.CoreV1().Pods("openshift-etcd").Get(t.Context(), "etcd-sno", metav1.GetOptions{})
	require.NoError(t, err)
	r.pods[0].text = []byte("two")
	require.NoError(t, r.register(t.Context()))
	after, err := clients.CoreV1().Pods("openshift-etcd").Get(t.Context(), "etcd-sno", metav1.GetOptions{})
	require.NoError(t, err)
	require.NotEqual(t, before.Annotations[corev1.MirrorPodAnnotationKey], after.Annotations[corev1.MirrorPodAnnotationKey])
}

func TestChildIsRestartedAndStoppedOnRequest(t *testing.T) {
	dir := t.TempDir()
	count := filepath.Join(dir, "count")
	// The first run ends by itself, the second leaves a mark when it is asked to stop.
	script := `trap 'echo stopped >> "$0"; exit 0' TERM; echo x >> "$0"; [ "$(wc -l < "$0")" -gt 1 ] || exit 1; while :; do sleep 0.05; done`
	child := startChild(command{name: "test", argv: []string{"/bin/sh", "-c", script, count}}, slog.New(slog.DiscardHandler))
	require.Eventually(t, func() bool { return lines(count) >= 2 }, 2*time.Minute, 20*time.Millisecond, "the child was not restarted")
	child.stop()
	text, err := os.ReadFile(count)
	require.NoError(t, err)
	require.Contains(t, string(text), "stopped")
}

func lines(file string) int {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	return strings.Count(string(text), "\n")
}
