package recert

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"net"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow/flowtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/clustertest"
)

// saltedLeaf is signed with RSA-PSS.
func saltedLeaf(t *testing.T, ca *clustertest.Pair, algorithm x509.SignatureAlgorithm) *clustertest.Pair {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: algorithm.String()}, IPAddresses: []net.IP{net.ParseIP(oldV4)},
		SignatureAlgorithm: algorithm}
	return clustertest.MakePair(t, template, clustertest.NewKey(t, "p256"), ca)
}

// A certificate that was signed with RSA-PSS is again, with the parameters it had, and is the same in every place even if the run died
// between two of them.
func TestSaltedSignaturesStayAndAreOneInAllPlaces(t *testing.T) {
	start := newWorld(t)
	b := &builder{t: t, w: start}
	ca := clustertest.Authority(t, "salted", "rsa")
	b.secret("ns", "salted-signer", map[string]string{"tls.crt": ca.CertPEM, "tls.key": ca.KeyPEM})
	algorithms := map[string]x509.SignatureAlgorithm{"s256": x509.SHA256WithRSAPSS, "s384": x509.SHA384WithRSAPSS, "s512": x509.SHA512WithRSAPSS}
	for name, algorithm := range algorithms {
		leaf := saltedLeaf(t, ca, algorithm)
		b.secret("ns", name, map[string]string{"tls.crt": leaf.CertPEM, "tls.key": leaf.KeyPEM})
		b.file("/etc/kubernetes/"+name+".crt", leaf.CertPEM)
	}
	whole := start.clone()
	runRecert(t, whole)
	flowtest.Points(t, whole.writes, func(t *testing.T, cut int) {
		w := cutAfter(t, start, cut)
		runRecert(t, w)
		for name, algorithm := range algorithms {
			at := "secrets/ns/" + name + " data/tls.crt"
			was, is := certificateAt(t, start, at, 0), certificateAt(t, w, at, 0)
			copied := certificatesOf(t, worldTexts(t, w)["/etc/kubernetes/"+name+".crt"])[0]
			if is.Equal(was) || !is.Equal(copied) || is.SignatureAlgorithm != algorithm || is.CheckSignatureFrom(ca.Cert) != nil {
				t.Fatalf("%s with %s, the same in both places: %t", name, is.SignatureAlgorithm, is.Equal(copied))
			}
			if outer(t, is) != outer(t, was) {
				t.Errorf("%s: the parameters of the algorithm changed", name)
			}
		}
	})
}

func outer(t *testing.T, cert *x509.Certificate) string {
	t.Helper()
	var parts struct{ Contents, Algorithm, Signature asn1.RawValue }
	if _, err := asn1.Unmarshal(cert.Raw, &parts); err != nil {
		t.Fatal(err)
	}
	return string(parts.Algorithm.FullBytes)
}
