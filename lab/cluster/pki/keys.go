// Package pki makes the keys and certificates of an OpenShift control plane: tables say which authorities, leaves and bundles
// there are and every place that holds them, an Identity is one site's.
//
// It is called by lab/cluster and its rooms, and by tests that make the keys of the tables themselves. Like all of lab/cluster
// it imports nothing of the product.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // key identifiers are SHA-1 by RFC 5280
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"time"
)

// KeyKind chooses the key's algorithm: OpenShift's operators make RSA 2048, the kubelet makes ECDSA P-256.
type KeyKind int

const (
	rsa2048 KeyKind = iota
	ecdsaP256
)

// Day is 24 hours.
const Day = 24 * time.Hour

// KeyPair is a certificate and its private key, parsed and in PEM.
type KeyPair struct {
	Cert    *x509.Certificate
	Key     crypto.Signer
	CertPEM []byte // one CERTIFICATE block, for a leaf followed by its issuer as OpenShift stores serving certificates
	KeyPEM  []byte // "RSA PRIVATE KEY" or "EC PRIVATE KEY"
}

// LeafRequest is what a leaf certificate says about its holder.
type LeafRequest struct {
	Subject  pkix.Name
	DNS      []string
	IPs      []netip.Addr
	Usages   []x509.ExtKeyUsage
	Validity time.Duration
	Key      KeyKind
}

// newAuthority makes a self-signed CA called cn, valid from a minute before now.
func newAuthority(now time.Time, cn string, validity time.Duration) (*KeyPair, error) {
	key, keyPEM, err := newKey(rsa2048)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: cn},
		NotBefore:             now.Add(-time.Minute),
		NotAfter:              now.Add(validity),
		KeyUsage:              x509.KeyUsageKeyEncipherment | x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	if template.SubjectKeyId, err = keyID(key.Public()); err != nil {
		return nil, err
	}
	template.AuthorityKeyId = template.SubjectKeyId
	return sign(template, template, key, key, keyPEM)
}

// issue signs a leaf with this authority.
func (a *KeyPair) issue(now time.Time, req LeafRequest) (*KeyPair, error) {
	key, keyPEM, err := newKey(req.Key)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 62))
	if err != nil {
		return nil, fmt.Errorf("draw a serial number: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               req.Subject,
		NotBefore:             now.Add(-time.Minute),
		NotAfter:              earlier(now.Add(req.Validity), a.Cert.NotAfter),
		KeyUsage:              x509.KeyUsageKeyEncipherment | x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           req.Usages,
		BasicConstraintsValid: true,
		DNSNames:              req.DNS,
		AuthorityKeyId:        a.Cert.SubjectKeyId,
	}
	if req.Key == ecdsaP256 {
		template.KeyUsage = x509.KeyUsageDigitalSignature
	}
	for _, ip := range req.IPs {
		template.IPAddresses = append(template.IPAddresses, net.IP(ip.AsSlice()))
		// OpenShift repeats addresses as DNS names for clients that look there.
		template.DNSNames = append(template.DNSNames, ip.String())
	}
	if template.SubjectKeyId, err = keyID(key.Public()); err != nil {
		return nil, err
	}
	return sign(template, a.Cert, key, a.Key, keyPEM)
}

func sign(template, parent *x509.Certificate, key, signer crypto.Signer, keyPEM []byte) (*KeyPair, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate of %q: %w", template.Subject.CommonName, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read back the certificate of %q: %w", template.Subject.CommonName, err)
	}
	return &KeyPair{Cert: cert, Key: key, CertPEM: certPEM(cert), KeyPEM: keyPEM}, nil
}

func newKey(kind KeyKind) (crypto.Signer, []byte, error) {
	if kind == ecdsaP256 {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, nil, fmt.Errorf("generate an ECDSA key: %w", err)
		}
		der, err := x509.MarshalECPrivateKey(key)
		if err != nil {
			return nil, nil, fmt.Errorf("encode an ECDSA key: %w", err)
		}
		return key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, nil, fmt.Errorf("generate an RSA key: %w", err)
	}
	der := x509.MarshalPKCS1PrivateKey(key)
	return key, pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: der}), nil
}

// keyID is the subject key identifier of RFC 5280 4.2.1.2 method 1: SHA-1 over the bits of the public key.
func keyID(pub crypto.PublicKey) ([]byte, error) {
	if k, ok := pub.(*rsa.PublicKey); ok {
		sum := sha1.Sum(x509.MarshalPKCS1PublicKey(k)) //nolint:gosec // an identifier
		return sum[:], nil
	}
	k, ok := pub.(*ecdsa.PublicKey)
	if !ok {
		return nil, fmt.Errorf("no key identifier for a %T", pub)
	}
	point, err := k.Bytes()
	if err != nil {
		return nil, fmt.Errorf("encode an ECDSA public key: %w", err)
	}
	sum := sha1.Sum(point) //nolint:gosec // an identifier
	return sum[:], nil
}

func certPEM(cert *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})
}

// PublicPEM is the public half of a key.
func PublicPEM(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, fmt.Errorf("encode a public key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
