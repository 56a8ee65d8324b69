package recert

import (
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// place says where a blob lies.
type place struct {
	// container holds things that belong together: an object's key, a folder.
	container string
	// where is container and the field or file in it, for people.
	where string
	// index counts the blobs of one text, from 0.
	index int
}

// certificate is one certificate of the cluster with every place it was found in.
type certificate struct {
	*x509.Certificate
	places []place
	// moves says that it names an old address.
	moves bool
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
	// all keeps the certificates that nobody needs for a change too: leaves without an old address.
	all bool
	// certs holds every certificate seen, by hash; nil for those that are not kept.
	certs  map[[sha256.Size]byte]*certificate
	leaves []*certificate // that name an old address, in order of discovery
	others []*certificate // all other leaves, if they are kept
	cas    map[string][]*certificate
	keys   []*keyFile
	keysIn map[string][]*keyFile // by container

	byPublic map[string]crypto.Signer // see keysByPublic
	indexed  int
}

func newPKI(m Mapping) *pki {
	return &pki{mapping: m, certs: map[[sha256.Size]byte]*certificate{}, cas: map[string][]*certificate{}, keysIn: map[string][]*keyFile{}}
}

// everything lists the certificates that were kept.
func (p *pki) everything() []*certificate {
	out := slices.Concat(p.leaves, p.others)
	for _, subject := range slices.Sorted(maps.Keys(p.cas)) {
		out = append(out, p.cas[subject]...)
	}
	return out
}

// collect takes up what the text holds and says whether a certificate in it names an old address. With
// settled set, the text was rewritten by an earlier run, so what its certificates name is new.
func (p *pki) collect(at place, text string, settled bool) (affected bool) {
	n := 0
	editBlobs(text, func(b blob) []byte {
		at := at
		at.index, n = n, n+1
		if b.kind == privateKeyBlob {
			k := &keyFile{place: at, label: b.label, der: b.der}
			p.keys, p.keysIn[at.container] = append(p.keys, k), append(p.keysIn[at.container], k)
			return nil
		}
		cert := p.take(b.der, settled)
		if cert == nil {
			return nil
		}
		cert.places = append(cert.places, at)
		affected = affected || (cert.moves && !settled)
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
	if err != nil {
		p.certs[sum] = nil
		return nil
	}
	cert := &certificate{Certificate: parsed, moves: !parsed.IsCA && !settled && p.affected(parsed)}
	switch {
	case parsed.IsCA:
		p.cas[string(parsed.RawSubject)] = append(p.cas[string(parsed.RawSubject)], cert)
	case cert.moves:
		p.leaves = append(p.leaves, cert)
	case p.all:
		p.others = append(p.others, cert)
	default:
		cert = nil
	}
	p.certs[sum] = cert
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
		k.signer, k.parsed = parseKey(k.label, k.der), true
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
