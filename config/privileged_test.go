package config_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/seedgen"
)

// TestTheRecertImageNeedsARightOfItsOwn: it runs as root on the node, so that who may change an address may not choose it.
func TestTheRecertImageNeedsARightOfItsOwn(t *testing.T) {
	server := shared.Server(t)
	server.DeleteIPConfig(t)
	apply(t, server, build(t, "default")...)
	require.NoError(t, createIPConfig(t, server.Client))
	bind(t, server, "changes", "lifecycle-agent-cluster-editor")
	bind(t, server, "chooses", "lifecycle-agent-cluster-editor", "lifecycle-agent-recert-image")
	changes, chooses := asUser(t, server, "changes"), asUser(t, server, "chooses")
	edit := func(c client.Client, change string, options ...client.PatchOption) error {
		ipc := &lcav1.IPConfig{ObjectMeta: metav1.ObjectMeta{Name: lcav1.IPConfigName}}
		return c.Patch(t.Context(), ipc, client.RawPatch("application/merge-patch+json", []byte(change)), options...)
	}
	annotate := func(name, value string) string { return `{"metadata":{"annotations":{"` + name + `":` + value + `}}}` }
	const image = `"registry.example.com/any:1"`
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		require.ErrorContains(c, edit(changes, annotate(lcav1.RecertImageAnnotation, image), client.DryRunAll),
			"changes may not set annotation lca.openshift.io/recert-image: the image runs as root on the node")
	}, wait, tick, "the policy takes effect")
	require.ErrorContains(t, edit(changes, annotate(lcav1.RecertPullSecretAnnotation, `"any"`)), "lca.openshift.io/recert-pull-secret")
	require.NoError(t, edit(changes, annotate(lcav1.RecertImageAnnotation, `""`)), "the image that the agent was shipped with")
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		require.NoError(c, edit(chooses, annotate(lcav1.RecertImageAnnotation, image)))
	}, wait, tick, "the right takes effect")
	require.NoError(t, edit(changes, annotate("a", `"b"`)), "what was chosen before is not chosen anew")
	require.NoError(t, edit(changes, annotate(lcav1.RecertImageAnnotation, "null")))

	seed := func() *lcav1.SeedGenerator {
		return &lcav1.SeedGenerator{ObjectMeta: metav1.ObjectMeta{Name: lcav1.SeedGeneratorName},
			Spec: lcav1.SeedGeneratorSpec{SeedImage: "registry.example.com/seed:1", RecertImage: "registry.example.com/any:1"}}
	}
	require.ErrorContains(t, changes.Create(t.Context(), seed(), client.DryRunAll), "changes may not set spec.recertImage")
	require.NoError(t, chooses.Create(t.Context(), seed(), client.DryRunAll))
	without := seed()
	without.Spec.RecertImage = ""
	require.NoError(t, changes.Create(t.Context(), without, client.DryRunAll))
}

// TestTheSecretsOfASeedAreForTheServingNode: agents of other nodes have the same account, and may not read them.
func TestTheSecretsOfASeedAreForTheServingNode(t *testing.T) {
	server := shared.Server(t)
	apply(t, server, build(t, "default")...)
	addNode(t, server, "r1", "node-role.kubernetes.io/control-plane")
	addNode(t, server, "r2", "node-role.kubernetes.io/control-plane")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: seedgen.Namespace, Name: lcav1.SeedSecretName},
		Data: map[string][]byte{lcav1.SeedSecretAuthKey: []byte("{}")}}
	require.NoError(t, server.Client.Create(t.Context(), secret))
	t.Cleanup(func() { require.NoError(t, server.Client.Delete(context.Background(), secret)) })
	serving, second := podOn(t, server, "r1"), podOn(t, server, "r2")
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		_, err := seedgen.AsAccount(server.Config, second)(t.Context(), lcav1.SeedSecretName)
		require.ErrorContains(c, err, "the agent of node r2 may have no token of lifecycle-agent-seed")
	}, wait, tick, "the policy takes effect")
	got, err := seedgen.AsAccount(server.Config, serving)(t.Context(), lcav1.SeedSecretName)
	require.NoError(t, err)
	require.Equal(t, secret.Data, got.Data)
	unbound := clientWith(t, server, requestToken(t, server, nil))
	_, err = seedgen.AsAccount(server.Config, unbound)(t.Context(), lcav1.SeedSecretName)
	require.ErrorContains(t, err, "may have no token of lifecycle-agent-seed")
}

// TestTheOperatorWritesSecretsOfMachinesAlone: a right to create Secrets would otherwise be one to create tokens of any account.
func TestTheOperatorWritesSecretsOfMachinesAlone(t *testing.T) {
	server := shared.Server(t)
	apply(t, server, build(t, "operator")...)
	operator := asUser(t, server, operatorUser, groups...)
	yes := true
	secret := func(namespace, name string, kind corev1.SecretType, owner string) *corev1.Secret {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Type: kind}
		if owner != "" {
			s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "metal3.io/v1alpha1", Kind: owner, Name: "h", UID: "u", Controller: &yes}}
		}
		return s
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		require.ErrorContains(c, operator.Create(t.Context(), secret("default", "any", "", ""), client.DryRunAll),
			"the operator of lifecycle-agent may not write Secret default/any: it writes Secrets of type Opaque")
	}, wait, tick, "the policy takes effect")
	own := secret("default", "h-host-user-data", "", "BareMetalHost")
	require.NoError(t, operator.Create(t.Context(), own, client.DryRunAll))
	for _, refused := range []*corev1.Secret{
		secret("default", "h", "", "Node"), secret("default", "token", corev1.SecretTypeServiceAccountToken, "BareMetalHost"),
		secret("kube-system", "h", "", "BareMetalHost"), secret("openshift-lifecycle-agent", "h", "", "BareMetalHost"),
	} {
		refused.Annotations = map[string]string{corev1.ServiceAccountNameKey: "default"}
		require.ErrorContains(t, operator.Create(t.Context(), refused, client.DryRunAll), "may not write Secret "+refused.Namespace+"/"+refused.Name)
	}
	others := secret("default", "of-another", "", "")
	require.NoError(t, server.Client.Create(t.Context(), others))
	t.Cleanup(func() { require.NoError(t, server.Client.Delete(context.Background(), others)) })
	before := client.MergeFrom(others.DeepCopy())
	others.OwnerReferences = own.OwnerReferences
	require.ErrorContains(t, operator.Patch(t.Context(), others, before), "may not write Secret default/of-another", "also not to make it its own")
}

func bind(t *testing.T, server *apitest.Server, user string, roles ...string) {
	t.Helper()
	for _, role := range roles {
		binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "test-" + user + "-" + role},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}}}
		require.NoError(t, client.IgnoreAlreadyExists(server.Client.Create(t.Context(), binding)))
	}
}

func asUser(t *testing.T, server *apitest.Server, user string, groups ...string) client.Client {
	t.Helper()
	config := rest.CopyConfig(server.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	c, err := client.New(config, client.Options{Scheme: server.Scheme})
	require.NoError(t, err)
	return c
}
