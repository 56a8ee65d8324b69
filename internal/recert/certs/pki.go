// Package certs finds the certificates and keys in texts, finds out who signed whom, and signs certificates again with other names,
// another validity or another key. Whatever is signed is proved before it is used.
//
// Re-issue is a function of the data alone, except for signatures with salt and new keys. recert and recert/inspect call it; it reads
// the files that a rule names and nothing else of the node.
package certs

import (
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"maps"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/replace"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// Place says where a blob lies.
type Place struct {
	// Container holds things that belong together: an object's key, a folder.
	Container string
	// Where is container and the field or file in it, for people.
	Where string
	// Index counts the blobs of one text, from 0.
	Index int
}

// Certificate is one certificate of the cluster with every place it was found in.
type Certificate struct {
	*x509.Certificate
	Places []Place
	// moves: it is a leaf that names an old address.
	moves bool
	// Named: it is an authority that names one.
	Named bool
	// Mentions lists the parts that mention one and stay.
	Mentions []string
	// Rekey is the key that a rule gives it.
	Rekey crypto.Signer
	// Reissued is what takes its place; nil while it stays.
	Reissued *x509.Certificate
}

// Unreadable is a certificate that cannot be parsed.
type Unreadable struct {
	At  Place
	why error
}

// String is the reason to report.
func (u Unreadable) String() string {
	return "names an old address or name in a certificate that cannot be read: " + u.why.Error()
}

// KeyFile is a key that is parsed on first use.
type KeyFile struct {
	Place
	wire.Blob
	signer crypto.Signer
	parsed bool
}

// PKI collects the certificates and keys of the cluster, each once.
type PKI struct {
	mapping replace.Mapping
	// Frozen leaves all certificates as they are.
	Frozen bool
	// All collects leaves without an old address and public keys too.
	All bool
	// certs holds every certificate that was parsed, by hash; nil for those that are not kept.
	certs map[[sha256.Size]byte]*Certificate
	// known holds the authorities by their text too: each stands beside many leaves.
	known  map[string]*Certificate
	Leaves []*Certificate // that name an old address, in order of discovery
	others []*Certificate // all other leaves, if they are kept
	// Mentioning are the certificates with a part that mentions an old address and stays.
	Mentioning []*Certificate
	// Unread are the certificates with an old address or name in them that cannot be read, by place.
	Unread []Unreadable
	cas    map[string][]*Certificate
	Keys   []*KeyFile
	// Publics are the public keys that stand by themselves, if all is kept.
	Publics []*KeyFile
	keysIn  map[string][]*KeyFile // by container
	// bundles holds the certificates of long texts, by the text.
	bundles map[string][]*Certificate

	// everyKey: public keys are replaced too, wherever they stand.
	everyKey bool
	newKeys  map[string]crypto.Signer // what takes the place of keys, by subjectPublicKeyInfo
	byPublic map[string]crypto.Signer // see keysByPublic
	indexed  int
	limits   map[*Certificate][]*x509.Certificate // see limitsOf
}

// NewPKI returns an empty PKI.
func NewPKI(m replace.Mapping) *PKI {
	return &PKI{mapping: m, certs: map[[sha256.Size]byte]*Certificate{}, known: map[string]*Certificate{},
		cas: map[string][]*Certificate{}, keysIn: map[string][]*KeyFile{}, bundles: map[string][]*Certificate{},
		newKeys: map[string]crypto.Signer{}, limits: map[*Certificate][]*x509.Certificate{}}
}

// Everything lists the certificates that were kept.
func (p *PKI) Everything() []*Certificate {
	out := slices.Concat(p.Leaves, p.others)
	for _, subject := range slices.Sorted(maps.Keys(p.cas)) {
		out = append(out, p.cas[subject]...)
	}
	return out
}

// namesOldAddress reports whether the certificate names an old address.
func (p *PKI) namesOldAddress(cert *x509.Certificate) bool {
	_, changed := mappedNames(cert, p.mapping)
	return changed
}

// Replace puts the re-issued certificates into a text.
func (p *PKI) Replace(text string) string {
	return wire.EditBlobs(text, func(b wire.Blob) []byte {
		if b.Kind != wire.CertificateBlob {
			return p.replacementKey(b)
		}
		cert := p.certs[sha256.Sum256(b.DER())]
		if cert == nil || cert.Reissued == nil {
			return nil
		}
		return cert.Reissued.Raw
	})
}
