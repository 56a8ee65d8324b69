package certs

import (
	"bytes"
	"encoding/asn1"
	"errors"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/replace"
)

// Extensions that a change may touch (RFC 5280 4.2.1).
var (
	oidSubjectKeyID   = asn1.ObjectIdentifier{2, 5, 29, 14}
	oidSubjectAltName = asn1.ObjectIdentifier{2, 5, 29, 17}
	oidAuthorityKeyID = asn1.ObjectIdentifier{2, 5, 29, 35}
)

// Tags of GeneralName (RFC 5280 4.2.1.6).
var (
	tagDNSName = cbasn1.Tag(2).ContextSpecific()
	tagURI     = cbasn1.Tag(6).ContextSpecific()
	tagIP      = cbasn1.Tag(7).ContextSpecific()
)

// extensionRewriter says how the content of an extension changes; nil keeps it.
func (ch change) extensionRewriter(oid asn1.ObjectIdentifier) func(cryptobyte.String) ([]byte, bool) {
	switch {
	case oid.Equal(oidSubjectAltName):
		return func(value cryptobyte.String) ([]byte, bool) { return rewriteAltNames(value, ch.names) }
	case oid.Equal(oidSubjectKeyID) && ch.subjectKey != nil:
		return func(cryptobyte.String) ([]byte, bool) {
			var b cryptobyte.Builder
			b.AddASN1OctetString(ch.subjectKey)
			out, err := b.Bytes()
			return out, err == nil
		}
	case oid.Equal(oidAuthorityKeyID) && ch.authorityKey != nil:
		return func(value cryptobyte.String) ([]byte, bool) { return rewriteAuthorityKey(value, ch.authorityKey) }
	}
	return nil
}

// rewriteAuthorityKey replaces the key identifier in AuthorityKeyIdentifier; an issuer and serial number beside it stay.
func rewriteAuthorityKey(value cryptobyte.String, id []byte) ([]byte, bool) {
	tag := cbasn1.Tag(0).ContextSpecific()
	var parts, old cryptobyte.String
	if !value.ReadASN1(&parts, cbasn1.SEQUENCE) {
		return nil, false
	}
	had := parts.PeekASN1Tag(tag)
	if had && !parts.ReadASN1(&old, tag) {
		return nil, false
	}
	var b cryptobyte.Builder
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		if had {
			b.AddASN1(tag, func(b *cryptobyte.Builder) { b.AddBytes(id) })
		}
		b.AddBytes(parts)
	})
	out, err := b.Bytes()
	return out, err == nil
}

// encodeDER writes a Validity (RFC 5280 4.1.2.5): years until 2049 in UTCTime, later ones in GeneralizedTime.
func (v validity) encodeDER() ([]byte, error) {
	var b cryptobyte.Builder
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		for _, t := range []time.Time{v.notBefore.UTC(), v.notAfter.UTC()} {
			if t.Year() < 2050 {
				b.AddASN1UTCTime(t)
			} else {
				b.AddASN1GeneralizedTime(t)
			}
		}
	})
	return b.Bytes()
}

// rewriteAltNames maps addresses, names that are an address, and addresses in URIs. A name that
// is there already is not repeated.
func rewriteAltNames(value cryptobyte.String, m replace.Mapping) ([]byte, bool) {
	var list cryptobyte.String
	if !value.ReadASN1(&list, cbasn1.SEQUENCE) {
		return nil, false
	}
	var names [][]byte
	for !list.Empty() {
		var content cryptobyte.String
		var tag cbasn1.Tag
		if !list.ReadAnyASN1(&content, &tag) {
			return nil, false
		}
		var b cryptobyte.Builder
		b.AddASN1(tag, func(b *cryptobyte.Builder) { b.AddBytes(rewriteAltName(tag, content, m)) })
		name, err := b.Bytes()
		if err != nil {
			return nil, false
		}
		if !slices.ContainsFunc(names, func(n []byte) bool { return bytes.Equal(n, name) }) {
			names = append(names, name)
		}
	}
	var b cryptobyte.Builder
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) { b.AddBytes(bytes.Join(names, nil)) })
	out, err := b.Bytes()
	return out, err == nil
}

func rewriteAltName(tag cbasn1.Tag, content []byte, m replace.Mapping) []byte {
	switch tag {
	case tagIP:
		if a, ok := netip.AddrFromSlice(content); ok {
			if to, ok := m.Get(a); ok {
				return to.AsSlice()
			}
		}
	case tagDNSName:
		mapped, _ := m.Name(string(content))
		return []byte(mapped)
	case tagURI:
		return []byte(m.URL(string(content)))
	default: // other names hold neither addresses nor host names
	}
	return content
}

// rewriteName maps the attribute values of a Name that are an address.
func rewriteName(raw cryptobyte.String, m replace.Mapping) ([]byte, error) {
	var name cryptobyte.String
	if !raw.ReadASN1(&name, cbasn1.SEQUENCE) {
		return nil, errMalformed
	}
	ok := true
	var b cryptobyte.Builder
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		for !name.Empty() {
			var set cryptobyte.String
			if ok = ok && name.ReadASN1(&set, cbasn1.SET); !ok {
				return
			}
			b.AddASN1(cbasn1.SET, func(b *cryptobyte.Builder) {
				for ok && !set.Empty() {
					ok = rewriteAttribute(&set, b, m)
				}
			})
		}
	})
	out, err := b.Bytes()
	if err != nil || !ok {
		return nil, errors.Join(errMalformed, err)
	}
	return out, nil
}

// commonName is the encoded identifier of the attribute that rules for names speak of.
var commonName = cryptobyte.String{0x06, 0x03, 0x55, 0x04, 0x03}

func rewriteAttribute(set *cryptobyte.String, b *cryptobyte.Builder, m replace.Mapping) bool {
	var attribute, oid, value cryptobyte.String
	var tag cbasn1.Tag
	if !set.ReadASN1(&attribute, cbasn1.SEQUENCE) || !attribute.ReadASN1Element(&oid, cbasn1.OBJECT_IDENTIFIER) ||
		!attribute.ReadAnyASN1(&value, &tag) || !attribute.Empty() {
		return false
	}
	if tag == cbasn1.PrintableString || tag == cbasn1.UTF8String || tag == cbasn1.IA5String {
		mapped, _ := m.Host(string(value))
		if bytes.Equal(oid, commonName) {
			mapped, _ = m.CommonName(string(value))
		}
		value = cryptobyte.String(mapped)
	}
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddBytes(oid)
		b.AddASN1(tag, func(b *cryptobyte.Builder) { b.AddBytes(value) })
	})
	return true
}
