package recert

import (
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"maps"
	"slices"
	"strings"
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
	blob
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
	// certs holds every certificate that was parsed, by hash; nil for those that are not kept.
	certs map[[sha256.Size]byte]*certificate
	// known holds the authorities by their text too: each stands beside many leaves.
	known  map[string]*certificate
	leaves []*certificate // that name an old address, in order of discovery
	others []*certificate // all other leaves, if they are kept
	cas    map[string][]*certificate
	keys   []*keyFile
	keysIn map[string][]*keyFile // by container
	// bundles holds the certificates of long texts, by the text.
	bundles map[string][]*certificate

	newKeys  map[string]crypto.Signer // what takes the place of keys, by subjectPublicKeyInfo
	byPublic map[string]crypto.Signer // see keysByPublic
	indexed  int
}

func newPKI(m Mapping) *pki {
	return &pki{mapping: m, certs: map[[sha256.Size]byte]*certificate{}, known: map[string]*certificate{},
		cas: map[string][]*certificate{}, keysIn: map[string][]*keyFile{}, bundles: map[string][]*certificate{},
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
	if len(text) >= bundleSize {
		if certs, known := p.bundles[text]; known {
			for i, cert := range certs {
				affected = p.found(cert, at, i, settled) || affected
			}
			return affected
		}
	}
	var certs []*certificate
	editBlobs(text, func(b blob) []byte {
		if b.kind == privateKeyBlob {
			at := at
			at.index = len(certs)
			b.body = strings.Clone(b.body) // and not all that it stands in
			k := &keyFile{place: at, blob: b}
			p.keys, p.keysIn[at.container] = append(p.keys, k), append(p.keysIn[at.container], k)
			affected = affected || p.all
		}
		cert := p.take(b, settled)
		affected = p.found(cert, at, len(certs), settled) || affected
		certs = append(certs, cert)
		return nil
	})
	if isBundle(text) && len(certs) > 0 {
		p.bundles[text] = certs
	}
	return affected
}

// found notes a place of a certificate, if it is kept, and says whether what holds it has to be written.
func (p *pki) found(cert *certificate, at place, index int, settled bool) bool {
	if cert == nil {
		return false
	}
	at.index = index
	cert.places = append(cert.places, at)
	return p.all || (cert.moves && !settled)
}

// bundleSize is how long a text of certificates has to be to be worth knowing again: OpenShift injects one bundle of
// some 200 KiB into hundreds of config maps.
const bundleSize = 16 << 10

func isBundle(text string) bool {
	return len(text) >= bundleSize && !strings.Contains(text, "PRIVATE KEY") && !strings.Contains(text, "-data")
}

// take parses a certificate unless it is known already. One that cannot be parsed is nobody's concern here.
func (p *pki) take(b blob, settled bool) *certificate {
	if b.kind != certificateBlob {
		return nil
	}
	if cert, ok := p.known[b.body]; ok {
		return cert
	}
	der := b.der()
	if !p.all && !p.mapping.quick.certificate(der) {
		return nil // that is quicker told again than looked up
	}
	sum := sha256.Sum256(der)
	if cert, ok := p.certs[sum]; ok {
		return cert
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
	if parsed.IsCA {
		p.known[strings.Clone(b.body)] = cert
	}
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
		cert := p.certs[sha256.Sum256(b.der())]
		if cert == nil || cert.reissued == nil {
			return nil
		}
		return cert.reissued.Raw
	})
}
