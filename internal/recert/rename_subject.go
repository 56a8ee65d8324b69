package recert

import (
	"bytes"
	"errors"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

// rewriteName maps the attribute values of a Name that are an address.
func rewriteName(raw cryptobyte.String, m Mapping) ([]byte, error) {
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

func rewriteAttribute(set *cryptobyte.String, b *cryptobyte.Builder, m Mapping) bool {
	var attribute, oid, value cryptobyte.String
	var tag cbasn1.Tag
	if !set.ReadASN1(&attribute, cbasn1.SEQUENCE) || !attribute.ReadASN1Element(&oid, cbasn1.OBJECT_IDENTIFIER) ||
		!attribute.ReadAnyASN1(&value, &tag) || !attribute.Empty() {
		return false
	}
	if tag == cbasn1.PrintableString || tag == cbasn1.UTF8String || tag == cbasn1.IA5String {
		mapped, _ := m.Host(string(value))
		if bytes.Equal(oid, commonName) {
			mapped, _ = m.Name(string(value))
		}
		value = cryptobyte.String(mapped)
	}
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddBytes(oid)
		b.AddASN1(tag, func(b *cryptobyte.Builder) { b.AddBytes(value) })
	})
	return true
}
