package certs

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"time"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/replace"
)

// errMalformed is a certificate that crypto/x509 accepts and this package does not.
var errMalformed = errors.New("unexpected structure")

// change is what differs in a re-issued certificate. Its zero value changes the serial number alone.
type change struct {
	names replace.Mapping
	// issuer is the raw Name of an authority that was renamed, authorityKey the identifier of its new key.
	issuer, authorityKey []byte
	// public and subjectKey are a new key of the certificate's own and its identifier.
	public, subjectKey []byte
	validity           *validity
	// algorithm is what it is signed with instead of its own.
	algorithm substitute
	// alone: it is no longer signed by its authority, but by itself.
	alone bool
	// keepSerial is for authorities, which others may name by their serial number.
	keepSerial bool
}

// validity is when a certificate may be used.
type validity struct{ notBefore, notAfter time.Time }

// reissueCertificate signs the certificate again with the change made. Of its contents nothing else but the serial number changes,
// and the algorithm where nothing is signed with the old one any more; key, validity, usages, identifiers and all other extensions
// keep their bytes. The result depends on nothing but the arguments (except for RSA-PSS, whose salt comes from rand): a second run
// makes the same.
func reissueCertificate(leaf *x509.Certificate, key crypto.Signer, ch change, rand io.Reader) (*x509.Certificate, error) {
	tbs, err := rewriteTBS(leaf, ch)
	if err != nil {
		return nil, fmt.Errorf("rewrite its contents: %w", err)
	}
	signature, err := signTBS(tbs, cmp.Or(ch.algorithm.SignatureAlgorithm, leaf.SignatureAlgorithm), key, rand)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	algorithm := ch.algorithm.encoded
	if algorithm == nil {
		if algorithm, err = outerAlgorithm(leaf.Raw); err != nil {
			return nil, fmt.Errorf("read the algorithm: %w", err)
		}
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
func rewriteTBS(leaf *x509.Certificate, ch change) ([]byte, error) {
	input := cryptobyte.String(leaf.RawTBSCertificate)
	var tbs, version, serial, algorithm, issuer, period, subject cryptobyte.String
	if !input.ReadASN1(&tbs, cbasn1.SEQUENCE) || !readOptional(&tbs, &version, cbasn1.Tag(0).Constructed().ContextSpecific()) ||
		!tbs.ReadASN1Element(&serial, cbasn1.INTEGER) {
		return nil, errMalformed
	}
	for _, part := range []*cryptobyte.String{&algorithm, &issuer, &period, &subject} {
		if !tbs.ReadASN1Element(part, cbasn1.SEQUENCE) {
			return nil, errMalformed
		}
	}
	if ch.algorithm.encoded != nil {
		algorithm = ch.algorithm.encoded
	}
	newSubject, err := rewriteName(subject, ch.names)
	if err != nil {
		return nil, fmt.Errorf("rewrite the subject: %w", err)
	}
	switch {
	case ch.alone, bytes.Equal(issuer, subject): // signed by itself
		issuer = newSubject
	case ch.issuer != nil:
		issuer = ch.issuer
	}
	if ch.validity != nil {
		if period, err = ch.validity.encodeDER(); err != nil {
			return nil, fmt.Errorf("encode the validity: %w", err)
		}
	}
	extensions, err := rewriteExtensions(tbs, ch)
	if err != nil {
		return nil, fmt.Errorf("rewrite the extensions: %w", err)
	}
	body := bytes.Join([][]byte{algorithm, issuer, period, newSubject, extensions}, nil)
	number := leaf.SerialNumber
	if !ch.keepSerial {
		number = newSerial(number, body)
	}
	var b cryptobyte.Builder
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddBytes(version)
		b.AddASN1BigInt(number)
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

// rewriteExtensions carries along the public key and what else follows the subject, and maps the subject
// alternative names in it.
func rewriteExtensions(rest cryptobyte.String, ch change) ([]byte, error) {
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
	if ch.public != nil {
		var old cryptobyte.String
		identifiers := before
		if !identifiers.ReadASN1Element(&old, cbasn1.SEQUENCE) {
			return nil, errMalformed
		}
		before = slices.Concat(cryptobyte.String(ch.public), identifiers)
	}
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
				ok = rewriteExtension(&list, b, ch)
			}
		})
	})
	out, err := b.Bytes()
	if err != nil || !ok {
		return nil, errors.Join(errMalformed, err)
	}
	return out, nil
}

func rewriteExtension(list *cryptobyte.String, b *cryptobyte.Builder, ch change) bool {
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
	rewrite := ch.extensionRewriter(oid)
	if rewrite == nil {
		b.AddBytes(whole)
		return true
	}
	if !readOptional(&inner, &critical, cbasn1.BOOLEAN) || !inner.ReadASN1(&value, cbasn1.OCTET_STRING) {
		return false
	}
	content, ok := rewrite(value)
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddASN1ObjectIdentifier(oid)
		b.AddBytes(critical)
		b.AddASN1OctetString(content)
	})
	return ok
}
