package certs

import (
	"crypto/sha256"
	"crypto/x509"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// Collect collects the certificates and keys of a text and reports whether the text has to be written again. A settled text was
// rewritten by an earlier run: what its certificates name is new.
func (p *PKI) Collect(at Place, text string, settled bool) (affected bool) {
	if len(text) >= bundleSize {
		if certs, known := p.bundles[text]; known {
			for i, cert := range certs {
				affected = p.addPlace(cert, at, i, settled) || affected
			}
			return affected
		}
	}
	var certs []*Certificate
	wire.EditBlobs(text, func(b wire.Blob) []byte {
		switch at := at; b.Kind {
		case wire.PrivateKeyBlob:
			at.Index = len(certs)
			p.addKey(at, b)
			affected = affected || p.All
		case wire.PublicKeyBlob:
			p.addPublic(at, b)
			affected = affected || p.All && p.everyKey
		default: // certificates, below
		}
		cert := p.parseOnce(at, b, settled)
		affected = p.addPlace(cert, at, len(certs), settled) || affected
		certs = append(certs, cert)
		return nil
	})
	if isBundle(text) && len(certs) > 0 {
		p.bundles[text] = certs
	}
	return affected
}

// CollectPlain collects the PEM of an object without decoding the object, and reports whether that is enough: every block is a key, a
// known authority or a certificate that stays, as in most Secrets. Otherwise it collects nothing.
func (p *PKI) CollectPlain(o *wire.Object) (enough bool) {
	var keys []wire.Blob
	var authorities []*Certificate
	text, seen := wire.TextOf(o.Value), 0
	enough = len(text) < bundleSize
	wire.EditPEM(text, func(b wire.Blob) []byte {
		seen++
		if known := p.known[b.Body]; known != nil {
			authorities, enough = append(authorities, known), enough && !known.Named
			return nil
		}
		der := b.DER()
		if b.Kind == wire.PrivateKeyBlob {
			keys, enough = append(keys, b), enough && der != nil
			return nil
		}
		enough = enough && der != nil && !p.mapping.MayMatter(der)
		return nil
	})
	if !enough || strings.Count(text, wire.PEMBegin) > seen { // a block without an end reaches into another field
		return false
	}
	at := Place{Container: o.Key, Where: o.Key}
	for _, b := range keys {
		p.addKey(at, b)
	}
	for i, ca := range authorities {
		p.addPlace(ca, at, i, false)
	}
	return true
}

func (p *PKI) addKey(at Place, b wire.Blob) {
	b.Body = strings.Clone(b.Body) // to release the text around it
	k := &KeyFile{Place: at, Blob: b}
	p.Keys, p.keysIn[at.Container] = append(p.Keys, k), append(p.keysIn[at.Container], k)
}

// addPublic collects a public key for an inventory.
func (p *PKI) addPublic(at Place, b wire.Blob) {
	if p.All {
		b.Body = strings.Clone(b.Body)
		p.Publics = append(p.Publics, &KeyFile{Place: at, Blob: b})
	}
}

// addPlace adds a place to a certificate that is kept, and reports whether its text has to be written again.
func (p *PKI) addPlace(cert *Certificate, at Place, index int, settled bool) bool {
	if cert == nil {
		return false
	}
	at.Index = index
	cert.Places = append(cert.Places, at)
	return p.All || (cert.moves && !settled)
}

// bundleSize is the length from which texts of certificates are cached: OpenShift injects one bundle of some 200 KiB into hundreds of
// config maps.
const bundleSize = 16 << 10

func isBundle(text string) bool {
	return len(text) >= bundleSize && !strings.Contains(text, "PRIVATE KEY") && !strings.Contains(text, "-data")
}

// parseOnce parses a certificate unless it is known already.
func (p *PKI) parseOnce(at Place, b wire.Blob, settled bool) *Certificate {
	if b.Kind != wire.CertificateBlob {
		return nil
	}
	if cert, ok := p.known[b.Body]; ok {
		return cert
	}
	der := b.DER()
	if !p.All && !p.mapping.MayMatter(der) {
		return nil // cheaper to check again than to look up
	}
	sum := sha256.Sum256(der)
	if cert, ok := p.certs[sum]; ok {
		return cert
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		p.certs[sum] = nil
		if !settled && p.mapping.Carries(der) {
			p.Unread = append(p.Unread, Unreadable{at, err})
		}
		return nil
	}
	cert := &Certificate{Certificate: parsed, moves: !parsed.IsCA && !settled && !p.Frozen && p.namesOldAddress(parsed)}
	if p.mapping.MayMention(wire.TextOf(der)) {
		cert.Mentions = remainingMentions(parsed, p.mapping)
	}
	switch {
	case parsed.IsCA:
		cert.Named = p.namesOldAddress(parsed)
		p.cas[string(parsed.RawSubject)] = append(p.cas[string(parsed.RawSubject)], cert)
	case cert.moves:
		p.Leaves = append(p.Leaves, cert)
	case p.All:
		p.others = append(p.others, cert)
	case len(cert.Mentions) == 0:
		cert = nil
	}
	if cert != nil && len(cert.Mentions) > 0 {
		p.Mentioning = append(p.Mentioning, cert)
	}
	p.certs[sum] = cert
	if parsed.IsCA {
		p.known[strings.Clone(b.Body)] = cert
	}
	return cert
}
