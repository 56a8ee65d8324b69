package netmachineconfig

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/machineconfig"
)

// TestTheNodeDisruptionPolicyIsTaken creates the setting as it is printed: OpenShift's definition takes every field.
func TestTheNodeDisruptionPolicyIsTaken(t *testing.T) {
	api := client.WithFieldValidation(start(t), metav1.FieldValidationStrict)
	text, err := yaml.Marshal(machineconfig.NodeDisruptionPolicy())
	require.NoError(t, err)
	o := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal(text, &o.Object))
	require.NoError(t, api.Create(t.Context(), o), "%s", text)
	files, _, err := unstructured.NestedSlice(o.Object, "spec", "nodeDisruptionPolicy", "files")
	require.NoError(t, err)
	require.Len(t, files, 1)
}
