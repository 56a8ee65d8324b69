package cluster_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
)

func TestAKubeconfigOfAHubIsCompleteInItself(t *testing.T) {
	const head = `{"clusters":[{"name":"c","cluster":{"server":"https://hub:6443"%s}}],"contexts":[{"name":"x","context":{"cluster":"c","user":"u"}}],
"current-context":"x","users":[{"name":"u","user":{%s}}]}`
	config, err := cluster.HubConfig([]byte(fmt.Sprintf(head, "", `"token":"planted-secret"`)))
	require.NoError(t, err)
	require.Equal(t, "https://hub:6443", config.Host)
	require.Positive(t, config.Timeout)
	for says, text := range map[string]string{
		"it is no kubeconfig":                     "planted-secret",
		"it names a file (certificate-authority)": fmt.Sprintf(head, `,"certificate-authority":"/etc/shadow"`, `"token":"planted-secret"`),
		"it names a file (client-certificate":     fmt.Sprintf(head, "", `"tokenFile":"/etc/shadow"`),
		"it runs a program":                       fmt.Sprintf(head, "", `"exec":{"apiVersion":"client.authentication.k8s.io/v1","command":"/bin/sh"}`),
		"its current context is not complete":     `{"clusters":[{"name":"c","cluster":{"server":"https://hub"}}],"current-context":"absent"}`,
	} {
		_, err := cluster.HubConfig([]byte(text))
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), "planted-secret")
	}
}

func TestOwnersAreNamedWithTheirMark(t *testing.T) {
	mc := &unstructured.Unstructured{}
	mc.SetLabels(map[string]string{"app.kubernetes.io/instance": "clusters", "site": "north"})
	mc.SetAnnotations(map[string]string{"argocd.argoproj.io/tracking-id": "x"})
	mc.SetOwnerReferences([]metav1.OwnerReference{{Kind: "ClusterInstance", Name: "sno"}})
	require.Equal(t, []string{
		"Argo CD (annotation argocd.argoproj.io/tracking-id)", "Argo CD or Helm (label app.kubernetes.io/instance=clusters)",
		"ClusterInstance sno (owner reference)",
	}, cluster.Owners(mc))
	require.Empty(t, cluster.Owners(&unstructured.Unstructured{}))
}
