package recert

import (
	"crypto"
	"crypto/sha256"
	"crypto/x509"
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
	// rekey is the key that a rule gives it.
	rekey crypto.Signer
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
	// frozen leaves all certificates as they are.
	frozen bool
	// all keeps the certificates that nobody needs for a change too: leaves without an old address.
	all bool
	// certs holds every certificate seen, by hash; nil for those that are not kept.
	certs  map[[sha256.Size]byte]*certificate
	leaves []*certificate // that name an old address, in order of discovery
	others []*certificate // all other leaves, if they are kept
	cas    map[string][]*certificate
	keys   []*keyFile
	keysIn map[string][]*keyFile // by container

	newKeys  map[string]crypto.Signer // what takes the place of keys, by subjectPublicKeyInfo
	byPublic map[string]crypto.Signer // see keysByPublic
	indexed  int
}

func newPKI(m Mapping) *pki {
	return &pki{mapping: m, certs: map[[sha256.Size]byte]*certificate{}, cas: map[string][]*certificate{}, keysIn: map[string][]*keyFile{},
		newKeys: map[string]crypto.Signer{}}
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
			affected = affected || p.all
			return nil
		}
		cert := p.take(b.der, settled)
		if cert == nil {
			return nil
		}
		cert.places = append(cert.places, at)
		affected = affected || p.all || (cert.moves && !settled)
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
	cert := &certificate{Certificate: parsed, moves: !parsed.IsCA && !settled && !p.frozen && p.affected(parsed)}
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
			return p.rekeyed(b)
		}
		cert := p.certs[sha256.Sum256(b.der)]
		if cert == nil || cert.reissued == nil {
			return nil
		}
		return cert.reissued.Raw
	})
}
