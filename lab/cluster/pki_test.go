package cluster

import (
	"crypto/x509"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func dualStack() Site {
	return Site{Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.10/24"), netip.MustParsePrefix("2001:db8::10/64")}}.WithDefaults()
}

// dualIdentity is made once: some thirty RSA keys take seconds. Nobody changes it.
var dualIdentity = sync.OnceValues(func() (*identity, error) { return newIdentity(dualStack(), time.Now()) })

func TestEveryLeafVerifiesAgainstItsSigner(t *testing.T) {
	site := dualStack()
	id, err := dualIdentity()
	require.NoError(t, err)
	for _, spec := range leaves(site) {
		t.Run(spec.ID, func(t *testing.T) {
			roots := x509.NewCertPool()
			roots.AddCert(id.cas[spec.Signer].Cert)
			leaf := id.leaves[spec.ID]
			for _, usage := range spec.Req.Usages {
				_, err := leaf.Cert.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{usage}})
				require.NoError(t, err)
			}
			require.Equal(t, id.cas[spec.Signer].Cert.SubjectKeyId, leaf.Cert.AuthorityKeyId)
			require.False(t, leaf.Cert.NotAfter.After(id.cas[spec.Signer].Cert.NotAfter), "outlives its signer")
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
	for name, leaf := range id.leaves {
		for _, ip := range site.IPs() {
			require.Equal(t, want[name], leaf.Cert.VerifyHostname(ip.String()) == nil, "%s and %s", name, ip)
		}
	}
	require.NoError(t, id.leaves["etcd-serving-sno"].Cert.VerifyHostname("127.0.0.1"))
	require.Equal(t, "system:node:sno", id.leaves["kubelet-client-node"].Cert.Subject.CommonName)
}

func TestSiteValidation(t *testing.T) {
	two := func(a, b string) []netip.Prefix {
		return []netip.Prefix{netip.MustParsePrefix(a), netip.MustParsePrefix(b)}
	}
	for name, tt := range map[string]struct {
		site Site
		ok   bool
	}{
		"defaults":          {Site{}, true},
		"dual stack":        {dualStack(), true},
		"localhost":         {Site{Hostname: "localhost"}, false},
		"one family twice":  {Site{Addresses: two("192.0.2.1/24", "192.0.2.2/24")}, false},
		"mapped address":    {Site{Addresses: []netip.Prefix{netip.PrefixFrom(netip.MustParseAddr("::ffff:192.0.2.1"), 96)}}, false},
		"unset address":     {Site{Addresses: []netip.Prefix{{}}}, false},
		"three of them all": {Site{Addresses: append(two("192.0.2.1/24", "2001:db8::1/64"), netip.MustParsePrefix("192.0.2.3/24"))}, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := tt.site.WithDefaults().validate()
			require.Equal(t, tt.ok, err == nil, "%v", err)
		})
	}
}

// The operators re-issue what differs in one of these from what they would make.
func TestServingCertificatesAreAsTheOperatorsMakeThem(t *testing.T) {
	site := Site{}.WithDefaults()
	annotated := map[string]string{}
	id, err := newIdentity(site, time.Now())
	require.NoError(t, err)
	list, err := secrets(site, id)
	require.NoError(t, err)
	for _, secret := range list {
		if names := secret.Annotations[authPrefix+"certificate-hostnames"]; names != "" {
			annotated[secret.Name] = names
		}
	}
	require.Equal(t, "192.0.2.10,localhost", annotated["etcd-peer-sno"])
	require.Equal(t, "127.0.0.1,192.0.2.10,::1,etcd.kube-system.svc,etcd.kube-system.svc.cluster.local,"+
		"etcd.openshift-etcd.svc,etcd.openshift-etcd.svc.cluster.local,localhost", annotated["etcd-serving-sno"])
	for _, name := range []string{"external-loadbalancer-serving-certkey", "internal-loadbalancer-serving-certkey",
		"localhost-serving-cert-certkey", "service-network-serving-certkey", "localhost-recovery-serving-certkey"} {
		require.NotEmpty(t, annotated[name], name)
	}
	require.Equal(t, "192.0.2.10", id.leaves["etcd-peer-sno"].Cert.Subject.CommonName)
	require.Equal(t, "127.0.0.1", id.leaves["etcd-serving-sno"].Cert.Subject.CommonName)
}
