package recert

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/netip"
	"slices"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

// Tags of GeneralName (RFC 5280 4.2.1.6).
var (
	tagDNSName = cbasn1.Tag(2).ContextSpecific()
	tagURI     = cbasn1.Tag(6).ContextSpecific()
	tagIP      = cbasn1.Tag(7).ContextSpecific()
)

var oidSubjectAltName = asn1.ObjectIdentifier{2, 5, 29, 17}

// errMalformed is a certificate that crypto/x509 accepts and this file does not understand.
var errMalformed = errors.New("unexpected structure")

// reissue signs the leaf again with its old addresses replaced. Of its contents only the names that carry an address and the
// serial number change; key, validity, usages, identifiers and all other extensions keep their bytes. The
// result depends on nothing but the arguments (except for RSA-PSS, whose salt comes from rand): a second run makes the same.
func reissue(leaf *x509.Certificate, key crypto.Signer, m Mapping, rand io.Reader) (*x509.Certificate, error) {
	tbs, err := rewriteTBS(leaf, m)
	if err != nil {
		return nil, fmt.Errorf("rewrite the names: %w", err)
	}
	signature, err := signTBS(tbs, leaf.SignatureAlgorithm, key, rand)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	algorithm, err := outerAlgorithm(leaf.Raw)
	if err != nil {
		return nil, err
	}
	var b cryptobyte.Builder
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddBytes(tbs)
		b.AddBytes(algorithm)
		b.AddASN1BitString(signature)
	})
	der, err := b.Bytes()
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return x509.ParseCertificate(der)
}

// outerAlgorithm is the signatureAlgorithm beside the signature.
func outerAlgorithm(raw []byte) ([]byte, error) {
	input := cryptobyte.String(raw)
	var cert, tbs, algorithm cryptobyte.String
	if !input.ReadASN1(&cert, cbasn1.SEQUENCE) || !cert.ReadASN1Element(&tbs, cbasn1.SEQUENCE) ||
		!cert.ReadASN1Element(&algorithm, cbasn1.SEQUENCE) {
		return nil, errMalformed
	}
	return algorithm, nil
}

// rewriteTBS walks TBSCertificate (RFC 5280 4.1): [0] version, serial, signature, issuer, validity,
// subject, subjectPublicKeyInfo, [1] and [2] unique identifiers, [3] extensions.
func rewriteTBS(leaf *x509.Certificate, m Mapping) ([]byte, error) {
	input := cryptobyte.String(leaf.RawTBSCertificate)
	var tbs, version, serial, algorithm, issuer, validity, subject cryptobyte.String
	if !input.ReadASN1(&tbs, cbasn1.SEQUENCE) || !readOptional(&tbs, &version, cbasn1.Tag(0).Constructed().ContextSpecific()) ||
		!tbs.ReadASN1Element(&serial, cbasn1.INTEGER) {
		return nil, errMalformed
	}
	for _, part := range []*cryptobyte.String{&algorithm, &issuer, &validity, &subject} {
		if !tbs.ReadASN1Element(part, cbasn1.SEQUENCE) {
			return nil, errMalformed
		}
	}
	newSubject, err := rewriteName(subject, m)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(issuer, subject) { // signed by itself
		issuer = newSubject
	}
	extensions, err := rewriteExtensions(tbs, m)
	if err != nil {
		return nil, err
	}
	body := bytes.Join([][]byte{algorithm, issuer, validity, newSubject, extensions}, nil)
	var b cryptobyte.Builder
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddBytes(version)
		b.AddASN1BigInt(newSerial(leaf.SerialNumber, body))
		b.AddBytes(body)
	})
	return b.Bytes()
}

func readOptional(from, out *cryptobyte.String, tag cbasn1.Tag) bool {
	if !from.PeekASN1Tag(tag) {
		return true
	}
	return from.ReadASN1Element(out, tag)
}

// newSerial gives the new certificate a number of its own, as RFC 5280 4.1.2.2 asks, that follows from its
// contents. It is no longer than the old number or 63 bits, whichever is more.
func newSerial(old *big.Int, body []byte) *big.Int {
	h := sha256.New()
	h.Write(old.Bytes())
	h.Write(body)
	bits := min(max(old.BitLen(), 63), 159)
	serial := new(big.Int).SetBytes(h.Sum(nil))
	serial.And(serial, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(bits)), big.NewInt(1)))
	if serial.Sign() == 0 {
		serial.SetInt64(1)
	}
	return serial
}

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

func rewriteAttribute(set *cryptobyte.String, b *cryptobyte.Builder, m Mapping) bool {
	var attribute, oid, value cryptobyte.String
	var tag cbasn1.Tag
	if !set.ReadASN1(&attribute, cbasn1.SEQUENCE) || !attribute.ReadASN1Element(&oid, cbasn1.OBJECT_IDENTIFIER) ||
		!attribute.ReadAnyASN1(&value, &tag) || !attribute.Empty() {
		return false
	}
	if tag == cbasn1.PrintableString || tag == cbasn1.UTF8String || tag == cbasn1.IA5String {
		mapped, _ := m.Host(string(value))
		value = cryptobyte.String(mapped)
	}
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddBytes(oid)
		b.AddASN1(tag, func(b *cryptobyte.Builder) { b.AddBytes(value) })
	})
	return true
}

// rewriteExtensions carries along the public key and what else follows the subject, and maps the subject
// alternative names in it.
func rewriteExtensions(rest cryptobyte.String, m Mapping) ([]byte, error) {
	tag := cbasn1.Tag(3).Constructed().ContextSpecific()
	var before, outer, list cryptobyte.String
	before = rest
	for !rest.Empty() && !rest.PeekASN1Tag(tag) {
		var skipped cryptobyte.String
		var any cbasn1.Tag
		if !rest.ReadAnyASN1Element(&skipped, &any) {
			return nil, errMalformed
		}
	}
	before = before[:len(before)-len(rest)]
	if rest.Empty() {
		return before, nil
	}
	if !rest.ReadASN1(&outer, tag) || !outer.ReadASN1(&list, cbasn1.SEQUENCE) || !rest.Empty() {
		return nil, errMalformed
	}
	var b cryptobyte.Builder
	b.AddBytes(before)
	ok := true
	b.AddASN1(tag, func(b *cryptobyte.Builder) {
		b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
			for ok && !list.Empty() {
				ok = rewriteExtension(&list, b, m)
			}
		})
	})
	out, err := b.Bytes()
	if err != nil || !ok {
		return nil, errors.Join(errMalformed, err)
	}
	return out, nil
}

func rewriteExtension(list *cryptobyte.String, b *cryptobyte.Builder, m Mapping) bool {
	var whole cryptobyte.String
	if !list.ReadASN1Element(&whole, cbasn1.SEQUENCE) {
		return false
	}
	extension := whole
	var inner, critical, value cryptobyte.String
	var oid asn1.ObjectIdentifier
	if !extension.ReadASN1(&inner, cbasn1.SEQUENCE) || !inner.ReadASN1ObjectIdentifier(&oid) {
		return false
	}
	if !oid.Equal(oidSubjectAltName) {
		b.AddBytes(whole)
		return true
	}
	if !readOptional(&inner, &critical, cbasn1.BOOLEAN) || !inner.ReadASN1(&value, cbasn1.OCTET_STRING) {
		return false
	}
	names, ok := rewriteAltNames(value, m)
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddASN1ObjectIdentifier(oid)
		b.AddBytes(critical)
		b.AddASN1OctetString(names)
	})
	return ok
}

// rewriteAltNames maps addresses, names that are an address, and addresses in URIs. A name that
// is there already is not repeated.
func rewriteAltNames(value cryptobyte.String, m Mapping) ([]byte, bool) {
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

func rewriteAltName(tag cbasn1.Tag, content []byte, m Mapping) []byte {
	switch tag {
	case tagIP:
		if a, ok := netip.AddrFromSlice(content); ok {
			if to, ok := m.Get(a); ok {
				return to.AsSlice()
			}
		}
	case tagDNSName:
		mapped, _ := m.Host(string(content))
		return []byte(mapped)
	case tagURI:
		return []byte(m.Text(string(content)))
	}
	return content
}

// signTBS signs as the algorithm says. Without randomness ECDSA is deterministic (RFC 6979), as RSA PKCS #1 v1.5 and Ed25519 are anyway.
func signTBS(tbs []byte, algorithm x509.SignatureAlgorithm, key crypto.Signer, rand io.Reader) ([]byte, error) {
	hash, ok := signatureHash(algorithm)
	if !ok {
		return nil, fmt.Errorf("signature algorithm %s is not supported", algorithm)
	}
	if hash == 0 {
		return key.Sign(nil, tbs, crypto.Hash(0))
	}
	h := hash.New()
	h.Write(tbs)
	var opts crypto.SignerOpts = hash
	switch algorithm {
	case x509.SHA256WithRSAPSS, x509.SHA384WithRSAPSS, x509.SHA512WithRSAPSS:
		return key.Sign(rand, h.Sum(nil), &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: hash})
	}
	return key.Sign(nil, h.Sum(nil), opts)
}

func signatureHash(algorithm x509.SignatureAlgorithm) (crypto.Hash, bool) {
	switch algorithm {
	case x509.SHA256WithRSA, x509.SHA256WithRSAPSS, x509.ECDSAWithSHA256:
		return crypto.SHA256, true
	case x509.SHA384WithRSA, x509.SHA384WithRSAPSS, x509.ECDSAWithSHA384:
		return crypto.SHA384, true
	case x509.SHA512WithRSA, x509.SHA512WithRSAPSS, x509.ECDSAWithSHA512:
		return crypto.SHA512, true
	case x509.PureEd25519:
		return 0, true
	}
	return 0, false
}
