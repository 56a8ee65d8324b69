package clustertest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Pair is a certificate and its key.
type Pair struct {
	Cert    *x509.Certificate
	Key     crypto.Signer
	CertPEM string
	KeyPEM  string
}

// NewKey makes a key: "rsa", "ed25519", "p384" or "p256". An RSA key may be one that another test has had.
func NewKey(t testing.TB, kind string) crypto.Signer {
	t.Helper()
	var key crypto.Signer
	var err error
	switch kind {
	case "rsa":
		key, err = spare.take(t)
	case "ed25519":
		_, key, err = ed25519.GenerateKey(rand.Reader)
	case "p384":
		key, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	default:
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// spareKeys are the RSA keys of a process, which are slow to make. A test gets each of them once.
type spareKeys struct {
	mu    sync.Mutex
	keys  []*rsa.PrivateKey
	taken map[string]int // by the name of a test
}

var spare = spareKeys{taken: map[string]int{}}

// take gives a test a key that neither it nor a test around it has.
func (s *spareKeys) take(t testing.TB) (*rsa.PrivateKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := 0
	for around := t.Name(); around != ""; around = around[:max(0, strings.LastIndex(around, "/"))] {
		next = max(next, s.taken[around])
	}
	if next == len(s.keys) {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return nil, err
		}
		s.keys = append(s.keys, key)
	}
	s.taken[t.Name()] = next + 1
	return s.keys[next], nil
}

// MakePair signs a certificate by its parent, or by itself.
func MakePair(t testing.TB, template *x509.Certificate, key crypto.Signer, parent *Pair) *Pair {
	t.Helper()
	issuer, signer := template, key
	if parent != nil {
		issuer, signer = parent.Cert, parent.Key
	}
	template.NotBefore, template.NotAfter = Now().Add(-time.Hour), Now().Add(24*365*time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	label := "PRIVATE KEY"
	if k, ok := key.(*rsa.PrivateKey); ok {
		label, keyDER = "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(k)
	}
	return &Pair{cert, key, PEMText("CERTIFICATE", der), PEMText(label, keyDER)}
}

// PEMText encodes a PEM block.
func PEMText(label string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: label, Bytes: der}))
}

// Authority makes a self-signed authority.
func Authority(t testing.TB, cn, kind string) *Pair {
	return MakePair(t, &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: cn}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, NewKey(t, kind), nil)
}

// Leaf names the addresses the way OpenShift does: as addresses and once more as DNS names.
func Leaf(t testing.TB, ca *Pair, kind, cn string, names ...string) *Pair {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(424242), Subject: pkix.Name{CommonName: cn, Organization: []string{"system:etcd-peers"}},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 99999, 1}, Critical: false,
			Value: []byte{0x04, 0x03, 'o', 'w', 'n'}}},
	}
	for _, n := range names {
		if strings.Contains(n, "//") {
			u, err := url.Parse(n)
			if err != nil {
				t.Fatal(err)
			}
			template.URIs = append(template.URIs, u)
			continue
		}
		template.DNSNames = append(template.DNSNames, n)
		if ip := net.ParseIP(n); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		}
	}
	return MakePair(t, template, NewKey(t, kind), ca)
}

// Token signs a service account's token.
func Token(t *testing.T, key crypto.Signer, algorithm jose.SignatureAlgorithm, keyID string) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: jose.JSONWebKey{Key: key, KeyID: keyID}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign([]byte(`{"iss":"kubernetes/serviceaccount"}`))
	if err != nil {
		t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// PublicPEM encodes the public key.
func PublicPEM(t *testing.T, key crypto.Signer) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}
