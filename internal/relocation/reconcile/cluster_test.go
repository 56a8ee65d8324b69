package reconcile_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	stdpem "encoding/pem"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube/runtimeclient"
)

// pair is a certificate with its key, signed by itself.
func pair(t *testing.T, names ...string) (chain, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "signer"}, DNSNames: names, IsCA: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24000 * time.Hour), BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	encoded, err := x509.MarshalECPrivateKey(private)
	require.NoError(t, err)
	return string(stdpem.EncodeToMemory(&stdpem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(stdpem.EncodeToMemory(&stdpem.Block{Type: "EC PRIVATE KEY", Bytes: encoded}))
}

// factory are the objects of a cluster that is set up on its site.
func factory(t *testing.T) []client.Object {
	t.Helper()
	chain, key := pair(t)
	signer := map[string]string{"tls.crt": chain, "tls.key": key}
	node := &corev1.Node{}
	node.Name = "node"
	node.Labels = map[string]string{"node-role.kubernetes.io/master": "", "node-role.kubernetes.io/control-plane": ""}
	return []client.Object{
		node, config(t, "DNS", `{"baseDomain":"sno.factory.example.com"}`), config(t, "Ingress", `{"domain":"apps.sno.factory.example.com"}`),
		config(t, "APIServer", "{}"), config(t, "Proxy", "{}"), config(t, "Image", "{}"),
		object(t, `{"apiVersion":"config.openshift.io/v1","kind":"ClusterVersion","metadata":{"name":"version"},"spec":{"clusterID":"seed"}}`),
		object(t, `{"apiVersion":"operator.openshift.io/v1","kind":"IngressController",`+
			`"metadata":{"namespace":"openshift-ingress-operator","name":"default"},"spec":{}}`),
		secret("openshift-kube-apiserver-operator", "loadbalancer-serving-signer", signer),
		secret("openshift-ingress-operator", "router-ca", signer),
		secret("openshift-config", "pull-secret", map[string]string{".dockerconfigjson": "factory"}),
		secret("site", "theirs", map[string]string{".dockerconfigjson": `{"auths":{"registry.theirs":{}}}`}),
		secret("site", "tls", map[string]string{"tls.crt": "their chain", "tls.key": "their key"}),
		secret("site", "hub", map[string]string{"token": "their token"}),
	}
}

// The certificates of a site are served as they are.
func TestCertificatesOfASiteReachTheCluster(t *testing.T) {
	chain, key := pair(t, "api.shop.example.net", "*.apps.shop.example.net")
	c := api(t, factory(t)...)
	site := "{certificate: " + pem(chain) + ", key: " + pem(key) + "}"
	apply(t, c, "domain", "domain: shop.example.net\ncertificates: {api: "+site+", ingress: "+site+"}", nil)
	for namespace, name := range map[string]string{"openshift-config": "lca-relocation-api", "openshift-ingress": "lca-relocation-ingress"} {
		said := shows(t, c, "v1", "Secret", namespace, name)
		require.Contains(t, said, chain)
		require.Contains(t, said, key)
	}
}

// What a site says of its hub reaches the hub.
func TestFieldsOfAHubReachIt(t *testing.T) {
	type dialled struct{ url, ca, token string }
	for name, k := range map[string]struct{ access, token string }{
		"token": {"token: secret-token", "secret-token"}, "secretRef": {"secretRef: {namespace: site, name: hub}", "their token"},
	} {
		t.Run(name, func(t *testing.T) {
			onHub := api(t)
			var got dialled
			dial := func(_ context.Context, url string, ca []byte, token string) (kube.Client, error) {
				got = dialled{url, string(ca), token}
				return runtimeclient.NewClient(onHub), nil
			}
			out := apply(t, api(t, factory(t)...), "hub", "hub: {url: 'https://hub.example.org:6443', caBundle: "+pem(authority)+", clusterName: store, managedClusterSet: shops,\n"+
				"  klusterletAddonConfig: {applicationManager: {enabled: true}}, "+k.access+"}", dial)
			require.Contains(t, out.Attention, "import Secret store/store-import")
			require.Equal(t, dialled{"https://hub.example.org:6443", authority, k.token}, got)
			managed := shows(t, onHub, "cluster.open-cluster-management.io/v1", "ManagedCluster", "", "store")
			require.Contains(t, managed, `"cluster.open-cluster-management.io/clusterset":"shops"`)
			require.Contains(t, shows(t, onHub, "agent.open-cluster-management.io/v1", "KlusterletAddonConfig", "store", "store"),
				`"applicationManager":{"enabled":true}`)
		})
	}
}
