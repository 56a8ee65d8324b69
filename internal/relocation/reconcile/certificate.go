package reconcile

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"time"
)

const (
	// certificateLife is that of a certificate that is made here; it never outlives its authority.
	certificateLife = 365 * 24 * time.Hour
	// backdate lets a client whose clock is behind accept a new certificate.
	backdate = time.Hour
	// serialBits is the length of a random serial number (RFC 5280 allows 20 octets).
	serialBits = 127
)

// isCertificateUsable says whether a certificate serves the name, is signed by the authority and has a third of its life left.
func isCertificateUsable(certPEM, caPEM []byte, name string, now time.Time) bool {
	cert, err := parseCertificate(certPEM)
	if err != nil {
		return false
	}
	ca, err := parseCertificate(caPEM)
	if err != nil || cert.CheckSignatureFrom(ca) != nil || len(cert.DNSNames) != 1 || cert.DNSNames[0] != name {
		return false
	}
	return cert.NotAfter.Sub(now) > cert.NotAfter.Sub(cert.NotBefore)/3
}

// signServingCert makes a serving certificate for the name with a new key.
func signServingCert(caPEM, caKeyPEM []byte, name string, now time.Time, random io.Reader) (keyPair, error) {
	ca, err := parseCertificate(caPEM)
	if err != nil {
		return keyPair{}, fmt.Errorf("read the authority of %s: %w", name, err)
	}
	caKey, err := parseKey(caKeyPEM)
	if err != nil {
		return keyPair{}, fmt.Errorf("read the authority's key of %s: %w", name, err)
	}
	if !now.Before(ca.NotAfter) {
		return keyPair{}, fmt.Errorf("the authority %q of %s has expired at %s", ca.Subject.CommonName, name, ca.NotAfter.UTC())
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), random)
	if err != nil {
		return keyPair{}, fmt.Errorf("make a key for %s: %w", name, err)
	}
	octets := make([]byte, serialBits/8+1)
	if _, err := io.ReadFull(random, octets); err != nil {
		return keyPair{}, fmt.Errorf("draw a serial number: %w", err)
	}
	octets[0] = octets[0]&0x3f | 0x40 // positive, and never short
	template := &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(octets), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: laterOf(now.Add(-backdate), ca.NotBefore), NotAfter: earlierOf(now.Add(certificateLife), ca.NotAfter),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(random, template, ca, key.Public(), caKey)
	if err != nil {
		return keyPair{}, fmt.Errorf("sign the certificate of %s: %w", name, err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return keyPair{}, fmt.Errorf("encode the key of %s: %w", name, err)
	}
	return keyPair{
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
	}, nil
}

func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlierOf(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func parseCertificate(text []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, errors.New("no PEM certificate")
	}
	return x509.ParseCertificate(block.Bytes)
}

// parseKey reads the three encodings of a private key.
func parseKey(text []byte) (crypto.Signer, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("no PEM key")
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("not a private key of a known encoding") // the cause may quote it
	}
	switch k := key.(type) {
	case *rsa.PrivateKey:
		return k, nil
	case *ecdsa.PrivateKey:
		return k, nil
	}
	return nil, errors.New("neither an RSA nor an ECDSA key")
}
