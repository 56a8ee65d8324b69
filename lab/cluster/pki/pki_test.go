package pki

import (
	"crypto/x509"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/site"
)

func dualStack() site.Site {
	return site.Site{Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.10/24"), netip.MustParsePrefix("2001:db8::10/64")}}.WithDefaults()
}

// dualIdentity is made once: some thirty RSA keys take seconds. Nobody changes it.
var dualIdentity = sync.OnceValues(func() (*Identity, error) { return NewIdentity(dualStack(), time.Now()) })

func TestEveryLeafVerifiesAgainstItsSigner(t *testing.T) {
	site := dualStack()
	id, err := dualIdentity()
	require.NoError(t, err)
	for _, spec := range Leaves(site) {
		t.Run(spec.ID, func(t *testing.T) {
			roots := x509.NewCertPool()
			roots.AddCert(id.CAs[spec.Signer].Cert)
			leaf := id.Leaves[spec.ID]
			for _, usage := range spec.Req.Usages {
				_, err := leaf.Cert.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{usage}})
				require.NoError(t, err)
			}
			require.Equal(t, id.CAs[spec.Signer].Cert.SubjectKeyId, leaf.Cert.AuthorityKeyId)
			require.False(t, leaf.Cert.NotAfter.After(id.CAs[spec.Signer].Cert.NotAfter), "outlives its signer")
			for _, name := range spec.Req.DNS {
				if name[0] != '*' {
					require.NoError(t, leaf.Cert.VerifyHostname(name))
				}
			}
		})
	}
}

func TestTheNodesAddressIsInTheCertificatesThatServeItAndInNoOther(t *testing.T) {
	site := dualStack()
	id, err := dualIdentity()
	require.NoError(t, err)
	want := map[string]bool{"external-loadbalancer-serving-certkey": true, "etcd-peer-sno": true, "etcd-serving-sno": true,
		"etcd-serving-metrics-sno": true, "kubelet-server-node": true}
	for name, leaf := range id.Leaves {
		for _, ip := range site.IPs() {
			require.Equal(t, want[name], leaf.Cert.VerifyHostname(ip.String()) == nil, "%s and %s", name, ip)
		}
	}
	require.NoError(t, id.Leaves["etcd-serving-sno"].Cert.VerifyHostname("127.0.0.1"))
	require.Equal(t, "system:node:sno", id.Leaves["kubelet-client-node"].Cert.Subject.CommonName)
}
