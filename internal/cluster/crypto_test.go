package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// certificate is a self-signed certificate in PEM, followed by its key as the kubelet keeps them.
func certificate(t *testing.T, cn string, notAfter time.Time) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: cn},
		NotBefore: notAfter.Add(-time.Hour), NotAfter: notAfter}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	keyDER, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	out := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return append(out, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})...)
}

func TestEarliestExpiry(t *testing.T) {
	first := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	got, err := EarliestExpiry(certificate(t, "client", first.Add(time.Hour)), certificate(t, "server", first))
	require.NoError(t, err)
	require.True(t, got.Equal(first))

	_, err = EarliestExpiry(certificate(t, "client", first), []byte("no certificate"))
	require.ErrorContains(t, err, "file 2 of 2")
	_, err = EarliestExpiry()
	require.Error(t, err)
}

func secret(namespace, name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
}

func TestReadRecertInputs(t *testing.T) {
	key := func(s string) map[string][]byte { return map[string][]byte{corev1.TLSPrivateKeyKey: []byte(s)} }
	const ns = "openshift-kube-apiserver-operator"
	objects := []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-config", Name: "admin-kubeconfig-client-ca"},
			Data: map[string]string{"ca-bundle.crt": "admin CA"}},
		secret(ns, "loadbalancer-serving-signer", key("lb")), secret(ns, "localhost-serving-signer", key("local")),
		secret(ns, "service-network-serving-signer", key("svc")), installConfigMap(installConfigText),
		secret("openshift-ingress-operator", "router-ca", map[string][]byte{
			corev1.TLSPrivateKeyKey: []byte("router"), corev1.TLSCertKey: certificate(t, "ingress-operator@1", time.Now().Add(time.Hour))}),
	}
	in, err := ReadRecertInputs(t.Context(), api(t, nil, objects...))
	require.NoError(t, err)
	require.Equal(t, "ingress-operator@1", in.IngressCN)
	require.Equal(t, installConfigText, in.InstallConfig)
	require.Equal(t, []RecertFile{
		{"admin-kubeconfig-client-ca.crt", []byte("admin CA")}, {"loadbalancer-serving-signer.key", []byte("lb")},
		{"localhost-serving-signer.key", []byte("local")}, {"service-network-serving-signer.key", []byte("svc")},
		{"ingresskey-ingress-operator.key", []byte("router")},
	}, in.Files)

	_, err = ReadRecertInputs(t.Context(), api(t, nil, objects[1:]...))
	require.True(t, apierrors.IsNotFound(err), "%v", err)
}
