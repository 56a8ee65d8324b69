package certs

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

var errNoIssuerKey = errors.New("the key of its issuer is not in the cluster")

// Issuer finds the authority that signed a leaf and its private key.
func (p *PKI) Issuer(leaf *Certificate) (*Certificate, crypto.Signer, error) {
	if !IsVerified(leaf.SignatureAlgorithm) {
		name := algorithmName(leaf.SignatureAlgorithm)
		return nil, nil, fmt.Errorf("issued by %q: signatures with %s are not verified", leaf.Issuer.CommonName, name)
	}
	var last error
	for _, ca := range p.Candidates(leaf) {
		if err := ca.CheckSignature(leaf.SignatureAlgorithm, leaf.RawTBSCertificate, leaf.Signature); err != nil {
			last = err
			continue
		}
		if key := p.KeyOf(ca); key != nil {
			return ca, key, nil
		}
		last = errNoIssuerKey
	}
	if last == nil {
		last = errors.New("the certificate of its issuer is not in the cluster")
	}
	return nil, nil, fmt.Errorf("issued by %q: %w", leaf.Issuer.CommonName, last)
}

// KeyOf finds the private key of a certificate: beside it, or else anywhere in the cluster.
func (p *PKI) KeyOf(cert *Certificate) crypto.Signer {
	if key := p.keyBeside(cert); key != nil {
		return key
	}
	return p.KeysByPublic()[string(cert.RawSubjectPublicKeyInfo)]
}

// keyBeside is the private key that lies in one place with the certificate, if any.
func (p *PKI) keyBeside(cert *Certificate) crypto.Signer {
	for _, at := range cert.Places {
		for _, k := range p.keysIn[at.Container] {
			if k.belongsTo(cert.PublicKey) {
				return k.signer
			}
		}
	}
	return nil
}

// KeysByPublic indexes all keys by subjectPublicKeyInfo. It parses every key, so it is built on first use.
func (p *PKI) KeysByPublic() map[string]crypto.Signer {
	if p.byPublic != nil && p.indexed == len(p.Keys) {
		return p.byPublic
	}
	p.byPublic, p.indexed = map[string]crypto.Signer{}, len(p.Keys)
	for _, k := range p.Keys {
		if k.privateKey() == nil {
			continue
		}
		if public, err := x509.MarshalPKIXPublicKey(k.signer.Public()); err == nil {
			p.byPublic[string(public)] = k.signer
		}
	}
	return p.byPublic
}

// privateKey parses the key once; nil is one of an unsupported type.
func (k *KeyFile) privateKey() crypto.Signer {
	if !k.parsed {
		k.signer, k.parsed = parseKey(k.Label, k.DER()), true
	}
	return k.signer
}

func (k *KeyFile) belongsTo(public crypto.PublicKey) bool {
	return k.privateKey() != nil && SamePublic(k.signer.Public(), public)
}

// parseKey returns nil for a key of an unsupported type.
func parseKey(label string, der []byte) crypto.Signer {
	var key any
	var err error
	switch label {
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(der)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(der)
	default:
		key, err = x509.ParsePKCS8PrivateKey(der)
	}
	if err != nil {
		return nil
	}
	signer, _ := key.(crypto.Signer)
	return signer
}

// SignerOf finds the certificate that signed one, whether or not its key is at hand.
func (p *PKI) SignerOf(cert *Certificate) *x509.Certificate {
	if signer := p.signerIn(cert); signer != nil {
		return signer.Certificate
	}
	return nil
}

func (p *PKI) signerIn(cert *Certificate) *Certificate {
	for _, ca := range p.Candidates(cert) {
		if ca.CheckSignature(cert.SignatureAlgorithm, cert.RawTBSCertificate, cert.Signature) == nil {
			return ca
		}
	}
	return nil
}

// Candidates are the authorities that may have signed a certificate, by name and key identifier.
func (p *PKI) Candidates(cert *Certificate) []*Certificate {
	list := slices.Clone(p.cas[string(cert.RawIssuer)])
	if !cert.IsCA && bytes.Equal(cert.RawIssuer, cert.RawSubject) {
		list = append(list, cert) // signed by itself
	}
	return slices.DeleteFunc(list, func(ca *Certificate) bool {
		return len(cert.AuthorityKeyId) > 0 && len(ca.SubjectKeyId) > 0 && !bytes.Equal(cert.AuthorityKeyId, ca.SubjectKeyId)
	})
}

// MatchesKeyBeside compares the first certificate of "x.crt" with the key "x.key" of the same object or folder.
func (p *PKI) MatchesKeyBeside(leaf *Certificate, at Place) error {
	stem, isCert := strings.CutSuffix(at.Where, ".crt")
	if !isCert || at.Index > 0 {
		return nil
	}
	for _, k := range p.keysIn[at.Container] {
		if k.Where == stem+".key" && k.privateKey() != nil && !k.belongsTo(leaf.PublicKey) {
			return errors.New("does not match the key " + path.Base(k.Where) + " beside it")
		}
	}
	return nil
}

// PublicKeys are the cluster's keys by fingerprint, those first that stand by themselves: tokens are checked with such.
func (p *PKI) PublicKeys() (keys map[string]crypto.PublicKey, order []string) {
	keys = map[string]crypto.PublicKey{}
	for _, k := range slices.Concat(p.Publics, p.Keys) {
		public := k.Public()
		print := KeyFingerprint(public)
		if _, known := keys[print]; print != "" && !known {
			keys[print], order = public, append(order, print)
		}
	}
	return keys, order
}

// KeyLike makes a key of the kind and size of another.
func KeyLike(public crypto.PublicKey, random io.Reader) (crypto.Signer, error) {
	switch k := public.(type) {
	case *rsa.PublicKey:
		return rsa.GenerateKey(random, max(k.N.BitLen(), 2048))
	case *ecdsa.PublicKey:
		return ecdsa.GenerateKey(k.Curve, random)
	case ed25519.PublicKey:
		_, key, err := ed25519.GenerateKey(random)
		return key, err
	}
	return nil, fmt.Errorf("a key of type %T cannot be made", public)
}

// KeyText writes a key in the form that OpenShift's operators give one of its kind.
func KeyText(key crypto.Signer) string {
	for _, label := range []string{"RSA PRIVATE KEY", "EC PRIVATE KEY", "PRIVATE KEY"} {
		if der := encodeKey(label, key); der != nil {
			return string(pem.EncodeToMemory(&pem.Block{Type: label, Bytes: der}))
		}
	}
	return ""
}

// SamePublic compares two public keys.
func SamePublic(a, b crypto.PublicKey) bool {
	own, ok := a.(interface{ Equal(crypto.PublicKey) bool })
	return ok && own.Equal(b)
}

// encodeKey writes a key in the form that a PEM label asks for; nil if it has none in that form.
func encodeKey(label string, key crypto.Signer) []byte {
	switch k := key.(type) {
	case *rsa.PrivateKey:
		if label == "RSA PRIVATE KEY" {
			return x509.MarshalPKCS1PrivateKey(k)
		}
	case *ecdsa.PrivateKey:
		if label == "EC PRIVATE KEY" {
			der, _ := x509.MarshalECPrivateKey(k)
			return der
		}
	}
	if label != "PRIVATE KEY" {
		return nil
	}
	der, _ := x509.MarshalPKCS8PrivateKey(key)
	return der
}

// FirstKey is the first private key of a text in PEM.
func FirstKey(text string) (key crypto.Signer) {
	wire.EditPEM(text, func(b wire.Blob) []byte {
		if key == nil && b.Kind == wire.PrivateKeyBlob {
			key = parseKey(b.Label, b.DER())
		}
		return nil
	})
	return key
}

// FirstCertificate is the first certificate of a text in PEM.
func FirstCertificate(text string) (cert *x509.Certificate) {
	wire.EditPEM(text, func(b wire.Blob) []byte {
		if cert == nil && b.Kind == wire.CertificateBlob {
			cert, _ = x509.ParseCertificate(b.DER())
		}
		return nil
	})
	return cert
}

// Public is the key, or that of a private key; nil is of a kind that nothing here is signed with.
func (k *KeyFile) Public() crypto.PublicKey {
	switch {
	case k.Kind == wire.PrivateKeyBlob && k.privateKey() != nil:
		return k.privateKey().Public()
	case k.Kind == wire.PublicKeyBlob && k.Label == "RSA PUBLIC KEY":
		if key, err := x509.ParsePKCS1PublicKey(k.DER()); err == nil {
			return key
		}
	case k.Kind == wire.PublicKeyBlob:
		if key, err := x509.ParsePKIXPublicKey(k.DER()); err == nil {
			return key
		}
	}
	return nil
}

// KeyFingerprint is the SHA-256 of a key's subjectPublicKeyInfo; empty for a key of an unknown type.
func KeyFingerprint(key crypto.PublicKey) string {
	if key == nil {
		return ""
	}
	info, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(info)
	return hex.EncodeToString(sum[:])
}

// KeyAlgorithm names the type of a key.
func KeyAlgorithm(key crypto.PublicKey) string {
	switch key.(type) {
	case *rsa.PublicKey:
		return "RSA"
	case *ecdsa.PublicKey:
		return "ECDSA"
	case ed25519.PublicKey:
		return "Ed25519"
	default:
		return "unknown"
	}
}
