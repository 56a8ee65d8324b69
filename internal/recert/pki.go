package recert

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
)

// place says where a blob lies.
type place struct {
	// container holds things that belong together: an object's key, a folder.
	container string
	// where is container and the field or file in it, for people.
	where string
}

// certificate is one certificate of the cluster with every place it was found in.
type certificate struct {
	*x509.Certificate
	places []place
	// reissued is what takes its place; nil while it stays.
	reissued *x509.Certificate
}

// keyFile is a private key that is parsed only when somebody needs it.
type keyFile struct {
	place
	label  string
	der    []byte
	signer crypto.Signer
	parsed bool
}

// pki collects the certificates and keys of the cluster, each once.
type pki struct {
	mapping Mapping
	// certs holds every certificate seen, by hash; nil for those nobody needs: leaves without an old address.
	certs  map[[sha256.Size]byte]*certificate
	leaves []*certificate // that name an old address, in order of discovery
	cas    map[string][]*certificate
	keys   []*keyFile
}

func newPKI(m Mapping) *pki {
	return &pki{mapping: m, certs: map[[sha256.Size]byte]*certificate{}, cas: map[string][]*certificate{}}
}

// collect takes up what the text holds and says whether a certificate in it names an old address. With
// settled set, the text was rewritten by an earlier run, so what its certificates name is new.
func (p *pki) collect(at place, text string, settled bool) (affected bool) {
	editBlobs(text, func(b blob) []byte {
		if b.kind == privateKeyBlob {
			p.keys = append(p.keys, &keyFile{place: at, label: b.label, der: b.der})
			return nil
		}
		cert := p.take(b.der, settled)
		if cert == nil {
			return nil
		}
		cert.places = append(cert.places, at)
		if !cert.IsCA && !settled {
			affected = true
		}
		return nil
	})
	return affected
}

// take parses a certificate unless it is known already. One that cannot be parsed is nobody's concern here.
func (p *pki) take(der []byte, settled bool) *certificate {
	sum := sha256.Sum256(der)
	if known, ok := p.certs[sum]; ok {
		return known
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil || (!parsed.IsCA && (settled || !p.affected(parsed))) {
		p.certs[sum] = nil
		return nil
	}
	cert := &certificate{Certificate: parsed}
	p.certs[sum] = cert
	if parsed.IsCA {
		p.cas[string(parsed.RawSubject)] = append(p.cas[string(parsed.RawSubject)], cert)
		return cert
	}
	p.leaves = append(p.leaves, cert)
	return cert
}

// affected says that the certificate names an old address.
func (p *pki) affected(cert *x509.Certificate) bool {
	_, changed := mappedNames(cert, p.mapping)
	return changed
}

// replace puts the re-issued certificates into a text.
func (p *pki) replace(text string) string {
	return editBlobs(text, func(b blob) []byte {
		if b.kind != certificateBlob {
			return nil
		}
		cert := p.certs[sha256.Sum256(b.der)]
		if cert == nil || cert.reissued == nil {
			return nil
		}
		return cert.reissued.Raw
	})
}

// errNoIssuerKey says that a leaf cannot be signed again here.
var errNoIssuerKey = errors.New("the key of its issuer is not in the cluster")

// issuer finds the authority that signed a leaf and its private key.
func (p *pki) issuer(leaf *certificate) (*x509.Certificate, crypto.Signer, error) {
	candidates := p.cas[string(leaf.RawIssuer)]
	if bytes.Equal(leaf.RawIssuer, leaf.RawSubject) {
		candidates = append(slices.Clone(candidates), leaf) // signed by itself
	}
	var last error
	for _, ca := range candidates {
		if len(leaf.AuthorityKeyId) > 0 && len(ca.SubjectKeyId) > 0 && !bytes.Equal(leaf.AuthorityKeyId, ca.SubjectKeyId) {
			continue
		}
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

// keyOf finds the private key of a certificate, first where the certificate itself lies.
func (p *pki) keyOf(cert *certificate) crypto.Signer {
	beside := func(k *keyFile) bool {
		return slices.ContainsFunc(cert.places, func(at place) bool { return at.container == k.container })
	}
	for _, near := range []bool{true, false} {
		for _, k := range p.keys {
			if beside(k) == near && k.belongsTo(cert.PublicKey) {
				return k.signer
			}
		}
	}
	return nil
}

// keyBeside is the private key that lies in one place with the certificate, if any.
func (p *pki) keyBeside(cert *certificate) crypto.Signer {
	for _, k := range p.keys {
		for _, at := range cert.places {
			if at.container == k.container && k.belongsTo(cert.PublicKey) {
				return k.signer
			}
		}
	}
	return nil
}

func (k *keyFile) belongsTo(public crypto.PublicKey) bool {
	if !k.parsed {
		k.signer, k.parsed = parseKey(k.label, k.der), true
	}
	if k.signer == nil {
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
