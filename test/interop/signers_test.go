//go:build interop

package interop

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	signingKey    = "Secret openshift-service-ca/signing-key"
	csrSigner     = "Secret openshift-kube-controller-manager-operator/csr-signer"
	servingSecret = "Secret openshift-kube-controller-manager-operator/kube-controller-manager-operator-serving-cert"
	injected      = "ConfigMap openshift-config-managed/interop-bundle"
)

// kept are the places of keys, certificates and bundles that two operators have, and that a change of the address leaves alone.
var kept = []string{
	signingKey, "ConfigMap openshift-service-ca/signing-cabundle", servingSecret, injected,
	csrSigner, "Secret openshift-kube-controller-manager-operator/csr-signer-signer", "Secret openshift-kube-controller-manager/csr-signer",
	"ConfigMap openshift-kube-controller-manager-operator/csr-controller-signer-ca", "ConfigMap openshift-kube-controller-manager-operator/csr-controller-ca",
	"Secret openshift-kube-controller-manager/service-account-private-key", "ConfigMap openshift-kube-controller-manager/serviceaccount-ca",
	"ConfigMap openshift-kube-controller-manager/client-ca", "ConfigMap openshift-kube-controller-manager/aggregator-client-ca",
}

// TestSignersOfAMovedClusterAreKept runs the operators of kube-controller-manager and of the service CA before and after a change of the
// address: the signer of CSRs, the key of service accounts, the signing key of services, what was issued by it and all bundles are the same,
// and no revision starts. The controls: a signer that is noted as expired is made anew, and a serving certificate that is deleted is
// issued again by the signing key that there was.
func TestSignersOfAMovedClusterAreKept(t *testing.T) {
	for name, crossing := range crossings {
		t.Run(name, func(t *testing.T) {
			c, before, after := moved(t, crossing.from, crossing.to, controllerManagerOperator(), serviceCAOperator())
			for _, place := range kept {
				require.NotEmpty(t, before[place], place)
				require.Equal(t, before[place], after[place], place)
			}
			requireElsewhere(t, differences(before, after), "controller-manager", "service-ca")

			s := secret("openshift-kube-controller-manager-operator", "csr-signer")
			require.NoError(t, c.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s))
			s.Annotations["auth.openshift.io/certificate-not-after"] = time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
			certificate := string(s.Data[corev1.TLSCertKey])
			require.NoError(t, c.Client.Update(t.Context(), s))
			serving := secret("openshift-kube-controller-manager-operator", "kube-controller-manager-operator-serving-cert")
			require.NoError(t, c.Client.Delete(t.Context(), serving))
			await(t, func() bool {
				return c.Client.Get(context.Background(), client.ObjectKeyFromObject(s), s) == nil && string(s.Data[corev1.TLSCertKey]) != certificate
			}, "the signer is made anew")
			await(t, func() bool {
				return c.Client.Get(context.Background(), client.ObjectKeyFromObject(serving), serving) == nil
			}, "the serving certificate is issued again")
			require.NotEqual(t, after[servingSecret], c.state()[servingSecret])
			require.Equal(t, after[signingKey], c.state()[signingKey])
		})
	}
}

// requireElsewhere says that no difference is in a place with one of the words in its name.
func requireElsewhere(t *testing.T, differences []string, words ...string) {
	t.Helper()
	for _, one := range differences {
		require.False(t, slices.ContainsFunc(words, func(word string) bool { return strings.Contains(one, word) }), one)
	}
}
