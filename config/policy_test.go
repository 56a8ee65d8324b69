package config_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
)

// TestTheNodeRoleWritesItsOwnNodeOnly uses tokens of pods on nodes, as kubelet requests them. Rights that the role does not have
// yet are added, so that it is the policy that refuses.
func TestTheNodeRoleWritesItsOwnNodeOnly(t *testing.T) {
	server := shared.Server(t)
	apply(t, server, build(t, "default")...)
	mayPatchNodes(t, server)
	for _, name := range []string{"node-a", "node-b"} {
		addNode(t, server, name)
	}
	a := podOn(t, server, "node-a")
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		require.ErrorContains(c, label(t, a, "node-b"), "the agent of node node-a may not write nodes node-b of another node")
	}, wait, tick, "the policy takes effect")
	require.NoError(t, label(t, a, "node-a"))
	require.NoError(t, label(t, podOn(t, server, "node-b"), "node-b"))
	require.NoError(t, label(t, server.Client, "node-b"), "others are not affected")

	unbound := clientWith(t, server, requestToken(t, server, nil))
	require.ErrorContains(t, label(t, unbound, "node-a"), "with the token of a pod on a node only")
}

// TestTheServingNodeWritesIPConfig: of a control plane's nodes the first by name, and of no other node, wherever its name sorts.
func TestTheServingNodeWritesIPConfig(t *testing.T) {
	server := shared.Server(t)
	server.DeleteIPConfig(t)
	apply(t, server, build(t, "default")...)
	addNode(t, server, "m1", "node-role.kubernetes.io/control-plane")
	addNode(t, server, "m2", "node-role.kubernetes.io/master")
	addNode(t, server, "b-worker", "node-role.kubernetes.io/worker")
	serving, second, worker := podOn(t, server, "m1"), podOn(t, server, "m2"), podOn(t, server, "b-worker")
	require.EventuallyWithT(t, func(c *assert.CollectT) { // a dry run, for it succeeds until then
		require.ErrorContains(c, createIPConfig(t, worker, client.DryRunAll), "the agent of node b-worker may not write IPConfig: it is no node of the control plane")
	}, wait, tick, "the policy takes effect")
	require.ErrorContains(t, createIPConfig(t, second), "the agent of node m2 may not write IPConfig: that of node m1 serves it")
	require.ErrorContains(t, createIPConfig(t, clientWith(t, server, requestToken(t, server, nil))), "with the token of a pod on a node only")

	require.NoError(t, createIPConfig(t, serving))
	for writer, allowed := range map[client.Client]bool{serving: true, second: false, worker: false} {
		ipc := &lcav1.IPConfig{ObjectMeta: metav1.ObjectMeta{Name: lcav1.IPConfigName}}
		err := writer.Status().Patch(t.Context(), ipc, client.RawPatch("application/merge-patch+json", []byte(`{"status":{"observedGeneration":1}}`)))
		require.Equal(t, allowed, err == nil, "%v", err)
		require.Equal(t, !allowed, apierrors.IsForbidden(err), "%v", err)
	}
	gone := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m1"}}
	require.NoError(t, server.Client.Delete(t.Context(), gone))
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		ipc := &lcav1.IPConfig{ObjectMeta: metav1.ObjectMeta{Name: lcav1.IPConfigName}}
		require.NoError(c, second.Patch(t.Context(), ipc, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"a":"b"}}}`))))
	}, wait, tick, "the next node serves when the first is gone")
}

// TestTheServingNodeWritesSeedGenerator: the rule is that of IPConfig.
func TestTheServingNodeWritesSeedGenerator(t *testing.T) {
	server := shared.Server(t)
	apply(t, server, build(t, "default")...)
	addNode(t, server, "s1", "node-role.kubernetes.io/control-plane")
	addNode(t, server, "s2", "node-role.kubernetes.io/control-plane")
	sg := &lcav1.SeedGenerator{ObjectMeta: metav1.ObjectMeta{Name: lcav1.SeedGeneratorName},
		Spec: lcav1.SeedGeneratorSpec{SeedImage: "registry.example.com/seed:1"}}
	require.NoError(t, server.Client.Create(t.Context(), sg))
	t.Cleanup(func() { require.NoError(t, server.Client.Delete(context.Background(), sg)) })
	report := func(c client.Client) error {
		return c.Status().Patch(t.Context(), &lcav1.SeedGenerator{ObjectMeta: metav1.ObjectMeta{Name: lcav1.SeedGeneratorName}},
			client.RawPatch("application/merge-patch+json", []byte(`{"status":{"phase":"Checking"}}`)))
	}
	serving, second := podOn(t, server, "s1"), podOn(t, server, "s2")
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		require.ErrorContains(c, report(second), "the agent of node s2 may not write SeedGenerator: that of node s1 serves it")
	}, wait, tick, "the policy takes effect")
	require.NoError(t, report(serving))
}

// wait bounds how long the API server may take to act on a new policy or node.
const (
	wait = patience
	tick = 100 * time.Millisecond
)

func addNode(t *testing.T, server *apitest.Server, name string, roles ...string) {
	t.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	for _, role := range roles {
		n.Labels[role] = ""
	}
	require.NoError(t, server.Client.Create(t.Context(), n))
	t.Cleanup(func() { require.NoError(t, client.IgnoreNotFound(server.Client.Delete(context.Background(), n))) })
}

// podOn is the API as a pod of the node role on the node sees it.
func podOn(t *testing.T, server *apitest.Server, node string) client.Client {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-lifecycle-agent", GenerateName: "on-" + node + "-"},
		Spec: corev1.PodSpec{NodeName: node, ServiceAccountName: "lifecycle-agent-node", Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	require.NoError(t, server.Client.Create(t.Context(), pod))
	return clientWith(t, server, requestToken(t, server, pod))
}

// requestToken returns a token of the node role's account, bound to a pod or to nothing.
func requestToken(t *testing.T, server *apitest.Server, pod *corev1.Pod) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{}
	if pod != nil {
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-lifecycle-agent", Name: "lifecycle-agent-node"}}
	require.NoError(t, server.Client.SubResource("token").Create(t.Context(), account, request))
	return request.Status.Token
}

func clientWith(t *testing.T, server *apitest.Server, token string) client.Client {
	t.Helper()
	config := rest.AnonymousClientConfig(server.Config)
	config.BearerToken = token
	c, err := client.New(config, client.Options{Scheme: server.Scheme})
	require.NoError(t, err)
	return c
}

func label(t *testing.T, c client.Client, node string) error {
	t.Helper()
	return c.Patch(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}},
		client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"seen":"`+time.Now().Format("150405.000000")+`"}}}`)))
}

func createIPConfig(t *testing.T, c client.Client, options ...client.CreateOption) error {
	t.Helper()
	ipc := &lcav1.IPConfig{ObjectMeta: metav1.ObjectMeta{Name: lcav1.IPConfigName}, Spec: lcav1.IPConfigSpec{Stage: lcav1.StageIdle}}
	return c.Create(t.Context(), ipc, options...)
}

func mayPatchNodes(t *testing.T, server *apitest.Server) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: "test-patch-nodes"}
	require.NoError(t, client.IgnoreAlreadyExists(server.Client.Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: meta,
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"patch"}}}})))
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "openshift-lifecycle-agent", Name: "lifecycle-agent-node"}}}
	require.NoError(t, server.Client.Create(t.Context(), binding))
	t.Cleanup(func() { require.NoError(t, server.Client.Delete(context.Background(), binding)) })
}
