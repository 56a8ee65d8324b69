package recert

import (
	"crypto/sha256"
	"crypto/x509"
	"strings"
)

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
		switch at := at; b.kind {
		case privateKeyBlob:
			at.index = len(certs)
			p.addKey(at, b)
			affected = affected || p.all
		case publicKeyBlob:
			p.addPublic(at, b)
		}
		cert := p.take(at, b, settled)
		affected = p.found(cert, at, len(certs), settled) || affected
		certs = append(certs, cert)
		return nil
	})
	if isBundle(text) && len(certs) > 0 {
		p.bundles[text] = certs
	}
	return affected
}

// collectPlain takes up an object whose PEM is all that matters in it, without understanding its encoding, and says whether that was
// enough: it is where every block is a key, an authority that is known already or a certificate that is nobody's concern, as in most
// Secrets. Otherwise it takes up nothing.
func (p *pki) collectPlain(o *object) (enough bool) {
	var keys []blob
	var authorities []*certificate
	text, seen := textOf(o.value), 0
	enough = len(text) < bundleSize
	editPEM(text, func(b blob) []byte {
		seen++
		if known := p.known[b.body]; known != nil {
			authorities, enough = append(authorities, known), enough && !known.named
			return nil
		}
		der := b.der()
		if b.kind == privateKeyBlob {
			keys, enough = append(keys, b), enough && der != nil
			return nil
		}
		enough = enough && der != nil && !p.mapping.quick.certificate(der)
		return nil
	})
	if !enough || strings.Count(text, pemBegin) > seen { // a block without an end reaches into another field, and over what is there
		return false
	}
	at := place{container: o.key, where: o.key}
	for _, b := range keys {
		p.addKey(at, b)
	}
	for i, ca := range authorities {
		p.found(ca, at, i, false)
	}
	return true
}

func (p *pki) addKey(at place, b blob) {
	b.body = strings.Clone(b.body) // and not all that it stands in
	k := &keyFile{place: at, blob: b}
	p.keys, p.keysIn[at.container] = append(p.keys, k), append(p.keysIn[at.container], k)
}

// addPublic takes up a public key, for an inventory: what trusts it is whoever checks tokens.
func (p *pki) addPublic(at place, b blob) {
	if p.all {
		b.body = strings.Clone(b.body)
		p.publics = append(p.publics, &keyFile{place: at, blob: b})
	}
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

// take parses a certificate unless it is known already.
func (p *pki) take(at place, b blob, settled bool) *certificate {
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
		if !settled && p.mapping.quick.named(der) {
			p.unread = append(p.unread, unreadable{at, err})
		}
		return nil
	}
	cert := &certificate{Certificate: parsed, moves: !parsed.IsCA && !settled && !p.frozen && p.affected(parsed)}
	switch {
	case parsed.IsCA:
		cert.named = p.affected(parsed)
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
