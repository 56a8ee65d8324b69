package onsite

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// authorityOf makes a key and the certificate of an authority, in PEM.
func authorityOf(t *testing.T, name string) (key, cert string) {
	t.Helper()
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, signer.Public(), signer)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(signer)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// A manifest.json with KubeconfigCryptoRetention is read unchanged, and what recert can keep is kept.
func TestRetainedKeysOfAManifestReachRecert(t *testing.T) {
	key, admin := authorityOf(t, adminSigner)
	manifest, err := json.Marshal(map[string]any{"api_version": 1, "cluster_name": "site-1", "base_domain": "example.org",
		"KubeconfigCryptoRetention": map[string]any{
			"KubeAPICrypto": map[string]any{
				"ServingCrypto": map[string]any{"localhost_signer_private_key": key, "service_network_signer_private_key": key,
					"loadbalancer_external_signer_private_key": key},
				"ClientAuthCrypto": map[string]any{"admin_ca_certificate": admin},
			},
			"IngresssCrypto": map[string]any{"ingress_ca": key, "ingress_certificate_cn": "ingress-operator@1"},
		}})
	require.NoError(t, err)
	c, problems := siteconfig.Decode(manifest)
	require.Empty(t, problems)

	p := &Reconfiguration{Record: relocation.Record{Facts: relocation.Facts{Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.10")}}}}
	text, err := json.Marshal(p.recertConfig(c, ""))
	require.NoError(t, err)
	parsed, err := config.Parse(text)
	require.NoError(t, err)
	var names []string
	for _, rule := range parsed.UseKeys {
		names = append(names, rule.CommonName)
		require.Equal(t, key, rule.PEM)
	}
	require.Equal(t, []string{localhostSigner, serviceNetworkSigner, loadBalancerSigner}, names)
	require.Equal(t, []string{admin}, parsed.UseCerts)
	attention := retentionOf(c).attention
	require.Len(t, attention, 1)
	require.Contains(t, attention[0], "ingressCAKey is not used")
}

func TestWhatCannotBeRetainedIsSaid(t *testing.T) {
	_, other := authorityOf(t, "another")
	r := retentionOf(siteconfig.SiteConfig{Identity: &siteconfig.Identity{CryptoRetention: &siteconfig.CryptoRetention{AdminCACertificate: other}}})
	require.Empty(t, r.certs)
	require.Len(t, r.attention, 1)
	require.Contains(t, r.attention[0], `is of "another", not of admin-kubeconfig-signer`)
	require.Empty(t, retentionOf(siteconfig.SiteConfig{}))
}

// A node that was shipped has keys that no other node has; one that was restored from an image has those of the image.
func TestARestoredNodeGetsKeysOfItsOwn(t *testing.T) {
	for _, running := range []*relocation.Running{nil, {}} {
		p := &Reconfiguration{Record: relocation.Record{Running: running,
			Facts: relocation.Facts{Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.10")}}}}
		text, err := json.Marshal(p.recertConfig(siteconfig.SiteConfig{}, ""))
		require.NoError(t, err)
		parsed, err := config.Parse(text)
		require.NoError(t, err)
		require.Equal(t, running != nil, parsed.NewKeys)
	}
}
