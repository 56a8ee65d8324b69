package secretscan

import (
	"bytes"
	"crypto/x509"
	"encoding/asn1"
	"encoding/binary"
	"unicode/utf8"
)

// isText reports whether a content is text: UTF-8 without control characters but those of lines.
func isText(content string) bool {
	for i := range len(content) {
		if b := content[i]; b < ' ' && b != '\n' && b != '\r' && b != '\t' && b != '\f' && b != 0x1b {
			return false
		}
	}
	return utf8.ValidString(content)
}

// derLimit is the largest content that is parsed as DER.
const derLimit = 1 << 20

// keyStore reports whether a content is a store of keys: none can be opened without its password, which may be anything.
func keyStore(content []byte) bool {
	magic := func(m string) bool { return bytes.HasPrefix(content, []byte(m)) }
	switch {
	case magic("\xfe\xed\xfe\xed\x00\x00\x00"), magic("\xce\xce\xce\xce\x00\x00\x00"): // JKS, JCEKS
		return holdsKeyEntry(content)
	case magic("\x05\x02\x00\x00"), magic("\x05\x01\x00\x00"): // keytab
		return true
	case magic("\x03\xd9\xa2\x9a\x67\xfb\x4b\xb5"), magic("\x03\xd9\xa2\x9a\x65\xfb\x4b\xb5"): // KeePass
		return true
	case magic("SQLite format 3\x00"): // NSS key4.db
		return bytes.Contains(content, []byte("nssPrivate"))
	case magic("LUKS\xba\xbe"):
		return true
	}
	return isPKCS12(content)
}

// holdsKeyEntry reports whether a Java key store has more than trusted certificates: the tag of each entry stands first, and that of
// a certificate is 2. One that cannot be followed counts as one with keys.
func holdsKeyEntry(content []byte) bool {
	if len(content) < 16 {
		return true
	}
	entries := binary.BigEndian.Uint32(content[8:])
	return entries > 0 && !onlyCertificates(content[12:], int(min(entries, 100000)))
}

// onlyCertificates follows entries of the form tag, alias, date, type, length, certificate.
func onlyCertificates(rest []byte, entries int) bool {
	skip := func(n int) bool {
		if n < 0 || n > len(rest) {
			return false
		}
		rest = rest[n:]
		return true
	}
	text := func() bool { return len(rest) >= 2 && skip(2+int(binary.BigEndian.Uint16(rest))) }
	for range entries {
		if len(rest) < 4 || binary.BigEndian.Uint32(rest) != 2 || !skip(4) || !text() || !skip(8) || !text() || len(rest) < 4 {
			return false
		}
		if !skip(4 + int(binary.BigEndian.Uint32(rest))) {
			return false
		}
	}
	return true
}

// Object identifiers of what a PKCS#12 file contains (RFC 7292).
var (
	oidData       = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}
	oidSignedData = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}
)

// isPKCS12 recognises a PFX: a sequence of the version 3 and a content of one of two kinds. Many are in BER, of indefinite length.
func isPKCS12(content []byte) bool {
	if len(content) < 24 || content[0] != 0x30 {
		return false
	}
	head := content[:min(len(content), 48)]
	for _, oid := range []asn1.ObjectIdentifier{oidData, oidSignedData} {
		der, err := asn1.Marshal(oid)
		at := bytes.Index(head, der)
		version := bytes.Index(head, []byte{2, 1, 3})
		if err == nil && version > 0 && version < 8 && at > version && at <= version+12 {
			return true
		}
	}
	return false
}

// derKey reports whether a content is a private key in DER.
func derKey(content []byte) bool {
	if len(content) < 32 || len(content) > derLimit || content[0] != 0x30 {
		return false
	}
	if _, err := x509.ParsePKCS8PrivateKey(content); err == nil {
		return true
	}
	if _, err := x509.ParsePKCS1PrivateKey(content); err == nil {
		return true
	}
	if _, err := x509.ParseECPrivateKey(content); err == nil {
		return true
	}
	return isEncryptedKey(content)
}

// isEncryptedKey recognises an EncryptedPrivateKeyInfo (RFC 5958 3): a scheme of PKCS#5 or PKCS#12, and what it encrypted.
func isEncryptedKey(content []byte) bool {
	var info struct {
		Algorithm struct {
			ID         asn1.ObjectIdentifier
			Parameters asn1.RawValue `asn1:"optional"`
		}
		Data []byte
	}
	rest, err := asn1.Unmarshal(content, &info)
	if err != nil || len(rest) > 0 || len(info.Data) < 16 {
		return false
	}
	id := info.Algorithm.ID.String()
	return bytes.HasPrefix([]byte(id), []byte("1.2.840.113549.1.5.")) || bytes.HasPrefix([]byte(id), []byte("1.2.840.113549.1.12.1."))
}
