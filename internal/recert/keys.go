package recert

import (
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
)

// errNoIssuerKey says that a leaf cannot be signed again here.
var errNoIssuerKey = errors.New("the key of its issuer is not in the cluster")

// issuer finds the authority that signed a leaf and its private key.
func (p *pki) issuer(leaf *certificate) (*x509.Certificate, crypto.Signer, error) {
	var last error
	for _, ca := range p.candidates(leaf) {
		if err := ca.CheckSignature(leaf.SignatureAlgorithm, leaf.RawTBSCertificate, leaf.Signature); err != nil {
			last = err
			continue
		}
		if key := p.keyOf(ca); key != nil {
			return ca.Certificate, key, nil
		}
		last = errNoIssuerKey
	}
	if last == nil {
		last = errors.New("the certificate of its issuer is not in the cluster")
	}
	return nil, nil, fmt.Errorf("issued by %q: %w", leaf.Issuer.CommonName, last)
}

// keyOf finds the private key of a certificate: where the certificate itself lies, or else anywhere.
func (p *pki) keyOf(cert *certificate) crypto.Signer {
	if key := p.keyBeside(cert); key != nil {
		return key
	}
	return p.keysByPublic()[string(cert.RawSubjectPublicKeyInfo)]
}

// keyBeside is the private key that lies in one place with the certificate, if any.
func (p *pki) keyBeside(cert *certificate) crypto.Signer {
	for _, at := range cert.places {
		for _, k := range p.keysIn[at.container] {
			if k.belongsTo(cert.PublicKey) {
				return k.signer
			}
		}
	}
	return nil
}

// keysByPublic indexes all keys by the subjectPublicKeyInfo of their certificates. It parses every key, so it is made
// only when somebody has to look further than beside the certificate.
func (p *pki) keysByPublic() map[string]crypto.Signer {
	if p.byPublic != nil && p.indexed == len(p.keys) {
		return p.byPublic
	}
	p.byPublic, p.indexed = map[string]crypto.Signer{}, len(p.keys)
	for _, k := range p.keys {
		if k.private() == nil {
			continue
		}
		if public, err := x509.MarshalPKIXPublicKey(k.signer.Public()); err == nil {
			p.byPublic[string(public)] = k.signer
		}
	}
	return p.byPublic
}

// private parses the key once; nil is one of a kind that signs nothing here.
func (k *keyFile) private() crypto.Signer {
	if !k.parsed {
		k.signer, k.parsed = parseKey(k.label, k.der()), true
	}
	return k.signer
}

func (k *keyFile) belongsTo(public crypto.PublicKey) bool {
	if k.private() == nil {
		return false
	}
	own, ok := k.signer.Public().(interface{ Equal(crypto.PublicKey) bool })
	return ok && own.Equal(public)
}

// parseKey returns nil for a key of a kind that signs nothing here.
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
