package certs

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/replace"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// A certificate may mention an old address where it does not stand for the host alone: in a node's name, or where its authority publishes
// what it revoked. Such a part stays, and is listed.

// NamesOld reports whether a text has a certificate with an old address or name.
func (p *PKI) NamesOld(text string) (found bool) {
	if !wire.MayHoldBlobs(text) {
		return false
	}
	wire.EditBlobs(text, func(b wire.Blob) []byte {
		if der := b.DER(); b.Kind == wire.CertificateBlob && p.mapping.MayMatter(der) {
			cert, err := x509.ParseCertificate(der)
			found = found || err == nil && p.namesOldAddress(cert)
		}
		return nil
	})
	return found
}

// remainingMentions lists the parts of a certificate that mention an old address even with its new names.
func remainingMentions(cert *x509.Certificate, m replace.Mapping) (out []string) {
	part := func(name string, texts ...string) {
		for _, a := range m.Mentions(strings.Join(texts, "\n")) {
			out = append(out, fmt.Sprintf("mentions %s in the %s of the certificate of %q", a, name, cert.Subject))
		}
	}
	cn, _ := m.CommonName(cert.Subject.CommonName)
	part("common name", cn)
	part("subject", mappedAttributes(cert.Subject, m)...)
	part("DNS names", mapNames(cert.DNSNames, m.Name)...)
	part("mail addresses", cert.EmailAddresses...)
	for _, e := range cert.Extensions {
		if !isRewritten(e.Id) {
			part(partName(e.Id), string(e.Value))
		}
	}
	return out
}

func mapNames(names []string, to func(string) (string, bool)) (out []string) {
	for _, name := range names {
		fresh, _ := to(name)
		out = append(out, fresh)
	}
	return out
}

// mappedAttributes are the values of a Name besides the common name.
func mappedAttributes(name pkix.Name, m replace.Mapping) (out []string) {
	for _, a := range name.Names {
		if text, ok := a.Value.(string); ok && !a.Type.Equal(asn1.ObjectIdentifier{2, 5, 4, 3}) {
			out = append(out, text)
		}
	}
	return mapNames(out, m.Host)
}

// isRewritten reports whether an extension is rewritten, or holds no text.
func isRewritten(oid asn1.ObjectIdentifier) bool {
	return slices.ContainsFunc([]asn1.ObjectIdentifier{oidSubjectAltName, oidSubjectKeyID, oidAuthorityKeyID}, oid.Equal)
}

// partName is what people call an extension.
func partName(oid asn1.ObjectIdentifier) string {
	switch oid.String() {
	case "2.5.29.31":
		return "CRL distribution points"
	case "1.3.6.1.5.5.7.1.1":
		return "authority information access"
	}
	return "extension " + oid.String()
}
