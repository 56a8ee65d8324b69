// Package config_test holds the manifests against what they are made for: kustomize and an API server.
package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/pod-security-admission/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
)

var shared = apitest.New(apitest.Options{OpenShiftCRDs: []string{"securitycontextconstraints.security.openshift.io"}})

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }

// TestManifestsApply has a cluster take what the README and the comments in the folders tell people to apply.
func TestManifestsApply(t *testing.T) {
	server := shared.Server(t)
	for _, folder := range []string{"operator", "default", "webhook", withComponent(t, "components/capi-ipam"), "samples"} {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			apply(t, server, build(t, folder)...)
		})
	}
}

// TestAHubInstallsTheOperatorAlone: nothing of the node role, and no kind that would go unanswered.
func TestAHubInstallsTheOperatorAlone(t *testing.T) {
	for _, o := range build(t, "operator") {
		require.NotContains(t, o.GetName(), "lifecycle-agent-node", o.GetKind())
		require.NotContains(t, []string{"DaemonSet", "IPConfig", "SeedGenerator"}, o.GetKind())
		require.NotContains(t, []string{"ipconfigs.lca.openshift.io", "seedgenerators.lca.openshift.io"}, o.GetName())
	}
	find[apiextensionsv1.CustomResourceDefinition](t, "operator", "CustomResourceDefinition", "ippools.ipam.metal3.io")
	find[apiextensionsv1.CustomResourceDefinition](t, "default", "CustomResourceDefinition", "ipconfigs.lca.openshift.io")
	find[apiextensionsv1.CustomResourceDefinition](t, "default", "CustomResourceDefinition", "seedgenerators.lca.openshift.io")
}

// TestAnUpgradeReplacesThePrivilegedDeployment: the agent was one privileged pod of a Deployment before it had two roles. After
// the same command as ever, no such Deployment is left.
func TestAnUpgradeReplacesThePrivilegedDeployment(t *testing.T) {
	server := shared.Server(t)
	before, err := os.ReadFile("testdata/single-pod.yaml")
	require.NoError(t, err)
	old := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal(before, &old.Object))
	apply(t, server, find[unstructured.Unstructured](t, "default", "Namespace", "openshift-lifecycle-agent"))
	require.NoError(t, client.IgnoreNotFound(server.Client.Delete(t.Context(), old.DeepCopy())))
	apply(t, server, old)
	apply(t, server, build(t, "default")...)
	var all appsv1.DeploymentList
	require.NoError(t, server.Client.List(t.Context(), &all))
	require.Len(t, all.Items, 1)
	pod := all.Items[0].Spec.Template
	require.Empty(t, violations(t, api.LevelRestricted, pod), "nothing of the old pod is left in the new one")
	require.Len(t, pod.Spec.Containers, 1)
	require.Empty(t, pod.Spec.Volumes)
}

// TestPodsOfOneRoleAreNotSelectedByTheOther: neither workload, Service nor budget of a role counts the other's pods.
func TestPodsOfOneRoleAreNotSelectedByTheOther(t *testing.T) {
	operator := labels.Set(find[appsv1.Deployment](t, "default", "Deployment", "lifecycle-agent").Spec.Template.Labels)
	node := labels.Set(find[appsv1.DaemonSet](t, "default", "DaemonSet", "lifecycle-agent-node").Spec.Template.Labels)
	for _, o := range build(t, "webhook") {
		selector, found, err := unstructured.NestedStringMap(o.Object, "spec", "selector")
		if err != nil || !found {
			selector, found, _ = unstructured.NestedStringMap(o.Object, "spec", "selector", "matchLabels")
		}
		if !found {
			continue
		}
		s := labels.SelectorFromSet(selector)
		require.NotEqual(t, s.Matches(operator), s.Matches(node), "%s %s", o.GetKind(), o.GetName())
	}
}

// TestTheDocumentedCommandFindsTheLogs: oc logs -n openshift-lifecycle-agent --selector
// app.kubernetes.io/component=lifecycle-agent --container manager.
func TestTheDocumentedCommandFindsTheLogs(t *testing.T) {
	for name, template := range map[string]corev1.PodTemplateSpec{
		"operator": find[appsv1.Deployment](t, "default", "Deployment", "lifecycle-agent").Spec.Template,
		"node":     find[appsv1.DaemonSet](t, "default", "DaemonSet", "lifecycle-agent-node").Spec.Template,
	} {
		require.Equal(t, "lifecycle-agent", template.Labels["app.kubernetes.io/component"], name)
		require.Equal(t, "manager", template.Spec.Containers[0].Name, name)
	}
}

// TestTheWebhookGetsItsCertificate: the arguments, mount, volume and port that the patch and the Service name lead to one another.
func TestTheWebhookGetsItsCertificate(t *testing.T) {
	pod := find[appsv1.Deployment](t, "webhook", "Deployment", "lifecycle-agent").Spec.Template.Spec
	container := pod.Containers[0]
	require.Len(t, pod.Containers, 1)
	require.Equal(t, []string{"operator", "--webhook-certs=" + container.VolumeMounts[0].MountPath}, container.Args)
	require.Equal(t, pod.Volumes[0].Name, container.VolumeMounts[0].Name)
	require.Equal(t, "lifecycle-agent-webhook", pod.Volumes[0].Secret.SecretName)
	port := find[corev1.Service](t, "webhook", "Service", "lifecycle-agent-webhook").Spec.Ports[0].TargetPort.StrVal
	require.True(t, slices.ContainsFunc(container.Ports, func(p corev1.ContainerPort) bool { return p.Name == port }), port)
}

// TestDefaultLeavesTheDefinitionsOfOthersAlone: OpenShift and the Cluster API have their own definitions of ipam.cluster.x-k8s.io, which
// must not be replaced; only the component has the product's.
func TestDefaultLeavesTheDefinitionsOfOthersAlone(t *testing.T) {
	definitions := func(folder string) (names []string) {
		for _, o := range build(t, folder) {
			if o.GetKind() == "CustomResourceDefinition" && strings.HasSuffix(o.GetName(), ".ipam.cluster.x-k8s.io") {
				names = append(names, o.GetName())
			}
		}
		return names
	}
	require.Empty(t, definitions("default"))
	require.Empty(t, definitions("webhook"))
	require.ElementsMatch(t, []string{"ipaddressclaims.ipam.cluster.x-k8s.io", "ipaddresses.ipam.cluster.x-k8s.io"},
		definitions(withComponent(t, "components/capi-ipam")))
}

// withComponent is an overlay that adds a component to config/default.
func withComponent(t *testing.T, component string) string {
	t.Helper()
	folder := t.TempDir()
	here, err := os.Getwd()
	require.NoError(t, err)
	up, err := filepath.Rel(folder, here)
	require.NoError(t, err)
	text := fmt.Sprintf("resources: [%s/default]\ncomponents: [%s/%s]\n", up, up, component)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(text), 0o600))
	return folder
}

func apply(t *testing.T, server *apitest.Server, objects ...*unstructured.Unstructured) {
	t.Helper()
	for _, o := range objects {
		err := server.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("test"), client.ForceOwnership)
		require.NoError(t, err, "%s %s", o.GetKind(), o.GetName())
	}
}

// build is what "kustomize build" and "oc apply -k" make of a folder; both put namespaces and definitions first.
func build(t *testing.T, folder string) (objects []*unstructured.Unstructured) {
	t.Helper()
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy
	resources, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), folder)
	require.NoError(t, err)
	for _, r := range resources.Resources() {
		content, err := r.Map()
		require.NoError(t, err)
		objects = append(objects, &unstructured.Unstructured{Object: content})
	}
	require.NotEmpty(t, objects)
	return objects
}
