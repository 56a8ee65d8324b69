// Package config_test holds the manifests against what they are made for: kustomize and an API server.
package config_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
)

var shared = apitest.New(apitest.Options{OpenShiftCRDs: []string{"securitycontextconstraints.security.openshift.io"}})

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }

// TestManifestsApply has a cluster take what the README and the comments in the folders tell people to apply.
func TestManifestsApply(t *testing.T) {
	server := shared.Server(t)
	for _, folder := range []string{"default", "webhook", "samples"} {
		t.Run(folder, func(t *testing.T) {
			for _, o := range build(t, folder) {
				err := server.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("test"), client.ForceOwnership)
				require.NoError(t, err, "%s %s", o.GetKind(), o.GetName())
			}
		})
	}
}

// TestTheWebhookGetsItsCertificate: the arguments, mount and volume that the patch adds lead to one another.
func TestTheWebhookGetsItsCertificate(t *testing.T) {
	var d appsv1.Deployment
	for _, o := range build(t, "webhook") {
		if o.GetKind() == "Deployment" {
			require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &d))
		}
	}
	container, volumes := d.Spec.Template.Spec.Containers[0], d.Spec.Template.Spec.Volumes
	mount, volume := container.VolumeMounts[len(container.VolumeMounts)-1], volumes[len(volumes)-1]
	require.Contains(t, container.Args, "--webhook-certs="+mount.MountPath)
	require.Equal(t, volume.Name, mount.Name)
	require.Equal(t, "lifecycle-agent-webhook", volume.Secret.SecretName)
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
