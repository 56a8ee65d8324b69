package clustertest

import (
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1" // how key identifiers are made
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"math/big"
	"net"
	"net/url"
	"strings"
	"time"
)

// request says what a certificate is to be.
type request struct {
	cn     string
	id     string // what the key follows from, where cn carries an address
	parent *Pair  // nil: signed by itself
	kind   Algorithm
	ca     bool
	pss    bool
	bare   bool // without key identifiers
	names  []string
	urls   []string
	// serial tells rotated signers of one name apart.
	serial int64
}

func (m *maker) issue(q request) *Pair {
	id := fmt.Sprintf("%s/%d", cmp.Or(q.id, q.cn), q.serial)
	key := m.keys.key(m.seed, id, q.kind)
	template := m.template(q, id)
	issuer, signer := template, key
	if q.parent != nil {
		issuer, signer = q.parent.Cert, q.parent.Key
	}
	if _, ok := signer.(*rsa.PrivateKey); ok && q.pss {
		template.SignatureAlgorithm = x509.SHA256WithRSAPSS
	}
	var random = rand.Reader
	if !q.pss {
		random = nil // the same signature every time
	}
	der, err := x509.CreateCertificate(random, template, issuer, key.Public(), signer)
	if err != nil {
		panic(fmt.Sprintf("make up %s: %v", q.cn, err))
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		panic(fmt.Sprintf("read %s: %v", q.cn, err))
	}
	return &Pair{cert, key, PEMText("CERTIFICATE", der), keyPEM(key, m.rand("form "+id).IntN(2) == 0)}
}

func (m *maker) template(q request, id string) *x509.Certificate {
	h := fnv.New64a()
	h.Write([]byte(id))
	lifetime := time.Duration(1+m.rand("life "+id).IntN(3650)) * 24 * time.Hour
	t := &x509.Certificate{SerialNumber: new(big.Int).SetUint64(h.Sum64()>>1 + 1), Subject: pkix.Name{CommonName: q.cn},
		NotBefore: Now().Add(-time.Hour), NotAfter: Now().Add(lifetime), BasicConstraintsValid: true, DNSNames: q.names}
	if q.ca {
		t.IsCA, t.KeyUsage = true, x509.KeyUsageCertSign|x509.KeyUsageCRLSign
		if !q.bare {
			id := sha1.Sum([]byte(id)) // a key identifier
			t.SubjectKeyId = id[:]
		}
		return t
	}
	t.Subject.Organization = []string{"system:masters"}
	t.KeyUsage, t.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	t.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 99999, 1}, Value: []byte{0x04, 0x03, 'o', 'w', 'n'}}}
	for _, n := range q.names {
		if ip := net.ParseIP(n); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		}
	}
	for _, text := range q.urls {
		u, err := url.Parse(text)
		if err != nil {
			panic(err)
		}
		t.URIs = append(t.URIs, u)
	}
	return t
}

// leaf makes a leaf that names the node and remembers it.
func (m *maker) leaf(q request) *Pair {
	p := m.issue(q)
	m.out.Leaves = append(m.out.Leaves, p.Cert.Raw)
	return p
}

func keyPEM(key crypto.Signer, traditional bool) string {
	switch k := key.(type) {
	case *rsa.PrivateKey:
		if traditional {
			return PEMText("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(k))
		}
	case *ecdsa.PrivateKey:
		if der, err := x509.MarshalECPrivateKey(k); err == nil && traditional {
			return PEMText("EC PRIVATE KEY", der)
		}
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		panic(err)
	}
	return PEMText("PRIVATE KEY", der)
}

func encode64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// kubeconfig embeds a client's pair and its server's bundle.
func kubeconfig(server, bundle string, client *Pair) string {
	return strings.Join([]string{"apiVersion: v1", "kind: Config", "clusters:", "- name: c", "  cluster:", "    server: " + server,
		"    certificate-authority-data: " + encode64(bundle), "users:", "- name: u", "  user:",
		"    client-certificate-data: " + encode64(client.CertPEM), "    client-key-data: " + encode64(client.KeyPEM), ""}, "\n")
}
