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
	// named says that it is an authority that names one.
	named bool
	// rekey is the key that a rule gives it.
	rekey crypto.Signer
	// reissued is what takes its place; nil while it stays.
	reissued *x509.Certificate
}

// unreadable is a certificate that this program does not understand.
type unreadable struct {
	at  place
	why error
}

// String says what is wrong with it.
func (u unreadable) String() string {
	return "names an old address or name in a certificate that cannot be read: " + u.why.Error()
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
	// unread are the certificates with an old address or name in them that cannot be read, by place.
	unread []unreadable
	cas    map[string][]*certificate
	keys   []*keyFile
	// publics are the public keys that stand by themselves, if all is kept.
	publics []*keyFile
	keysIn  map[string][]*keyFile // by container
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
