package network_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/machineconfig"
)

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func machineConfig(t *testing.T, document string) string {
	t.Helper()
	mc, err := machineconfig.Document("worker", "storage", []byte(document))
	require.NoError(t, err)
	text, err := yaml.Marshal(mc)
	require.NoError(t, err)
	return string(text)
}

// TestValidateNamesEverythingThatIsWrong with a policy or a MachineConfig.
func TestValidateNamesEverythingThatIsWrong(t *testing.T) {
	const head = "apiVersion: nmstate.io/v1\nkind: NodeNetworkConfigurationPolicy\nmetadata: {name: p}\n"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"policy": {head + "spec: {capture: {a: 'x =='}, desiredState: {interfaces: [{name: a, mtuu: 1}, {name: b, ipv9: {}}]}}",
			[]string{"spec.capture[a]: ", "spec.desiredState.interfaces[a].mtuu: ", "spec.desiredState.interfaces[b].ipv9: "}},
		"field of the policy": {head + "spec: {maxUnavailabel: 1}", []string{"maxUnavailabel"}},
		"machine config": {machineConfig(t, `{"interfaces":[{"name":"a","mtuu":1}]}`),
			[]string{"file /etc/nmstate/openshift/policies/storage.yml: ", "interfaces[a].mtuu"}},
		"machine config of something else": {"kind: MachineConfig\nspec: {config: {ignition: {version: 3.2.0}}}", []string{"has no network document"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := run(t, "", "validate", "-f", write(t, c.text))
			require.Error(t, err)
			for _, want := range c.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

func TestValidateTakesPoliciesAndMachineConfigs(t *testing.T) {
	policy, config := write(t, "kind: NodeNetworkConfigurationPolicy\n"+"spec: {desiredState: {interfaces: [{name: a, mtu: 1500}]}}"),
		write(t, machineConfig(t, `{"interfaces":[{"name":"a"}]}`))
	out, err := run(t, "", "validate", "--file", policy, "-f", config)
	require.NoError(t, err)
	require.Equal(t, policy+": nothing is wrong with it\n"+config+": nothing is wrong with it\n", out)
}

func TestValidateNeedsAFile(t *testing.T) {
	_, err := run(t, "", "validate")
	require.ErrorContains(t, err, "validate needs a file")
}

// A file may hold several, and each of them is checked.
func TestValidateChecksEveryDocumentOfAFile(t *testing.T) {
	const right, wrong = "kind: NodeNetworkConfigurationPolicy\nspec: {desiredState: {interfaces: [{name: a, mtu: 1500}]}}\n",
		"kind: NodeNetworkConfigurationPolicy\nspec: {desiredState: {interfaces: [{name: a, mtuu: 1}]}}\n"
	t.Run("wrong", func(t *testing.T) {
		_, err := run(t, "", "validate", write(t, "---\n"+right+"---\n"+right+"---\n"+wrong))
		require.ErrorContains(t, err, "document 3: spec.desiredState.interfaces[a].mtuu: ")
	})
	t.Run("right", func(t *testing.T) {
		file := write(t, "# two policies\n---\n"+right+"---\n"+right)
		out, err := run(t, "", "validate", file)
		require.NoError(t, err)
		require.Equal(t, file+": nothing is wrong with it\n", out)
	})
}

// A List is what "kubectl get nncp -o yaml" prints, with what the cluster has added.
func TestValidateChecksTheItemsOfAList(t *testing.T) {
	const item = `
- apiVersion: nmstate.io/v1
  kind: NodeNetworkConfigurationPolicy
  metadata: {name: %s, uid: 0b4a, managedFields: [{manager: kubectl, operation: Update}], creationTimestamp: "2026-11-01T00:00:00Z"}
  spec: {desiredState: {interfaces: [{name: a, %s: 1500}]}}
  status: {conditions: [{type: Available, status: "True"}]}`
	const head = "apiVersion: v1\nkind: List\nmetadata: {resourceVersion: \"\"}\nitems:"
	good, bad := fmt.Sprintf(item, "good", "mtu"), fmt.Sprintf(item, "bad", "mtuu")
	t.Run("one is wrong", func(t *testing.T) {
		_, err := run(t, "", "validate", write(t, head+good+bad+"\n"))
		require.ErrorContains(t, err, "item bad: spec.desiredState.interfaces[a].mtuu: unknown key")
		require.NotContains(t, err.Error(), "item good")
	})
	t.Run("all are right", func(t *testing.T) {
		_, err := run(t, "", "validate", write(t, head+good+"\n"))
		require.NoError(t, err)
	})
}
