package certs

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // key identifiers are SHA-1 by RFC 5280
	"crypto/sha256"
	"errors"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

// keyID computes an identifier of a key, given as subjectPublicKeyInfo and parsed; nil where the method does not apply.
type keyID func(info []byte, key crypto.PublicKey) []byte

// keyIDs are the methods in use: RFC 5280 4.2.1.2 (1), RFC 7093 2 (1), and those of library-go, over the modulus of an RSA key.
func keyIDs() []keyID {
	return []keyID{
		func(info []byte, _ crypto.PublicKey) []byte {
			sum := sha1.Sum(keyBits(info)) //nolint:gosec // an identifier, not a signature
			return sum[:]
		},
		func(info []byte, _ crypto.PublicKey) []byte {
			sum := sha256.Sum256(keyBits(info))
			return sum[:20]
		},
		func(_ []byte, key crypto.PublicKey) []byte {
			if k, ok := key.(*rsa.PublicKey); ok {
				sum := sha1.Sum(k.N.Bytes()) //nolint:gosec // an identifier, not a signature
				return sum[:]
			}
			return nil
		},
		func(_ []byte, key crypto.PublicKey) []byte {
			if k, ok := key.(*rsa.PublicKey); ok {
				sum := sha256.Sum256(k.N.Bytes())
				return sum[:]
			}
			return nil
		},
	}
}

// likeKeyID computes the identifier of the new key by the method that gave the old one; by RFC 5280's if none did.
func likeKeyID(old, oldInfo []byte, oldKey crypto.PublicKey, info []byte, key crypto.PublicKey) ([]byte, error) {
	for _, method := range keyIDs() {
		if bytes.Equal(method(oldInfo, oldKey), old) {
			if id := method(info, key); id != nil {
				return id, nil
			}
		}
	}
	id := keyIDs()[0](info, key)
	if bytes.Equal(id, old) {
		return nil, errors.New("the new key has the identifier of the old one")
	}
	return id, nil
}

// keyBits is the content of subjectPublicKey.
func keyBits(info []byte) []byte {
	input := cryptobyte.String(info)
	var outer, algorithm cryptobyte.String
	var bits []byte
	if !input.ReadASN1(&outer, cbasn1.SEQUENCE) || !outer.ReadASN1(&algorithm, cbasn1.SEQUENCE) || !outer.ReadASN1BitStringAsBytes(&bits) {
		return nil
	}
	return bits
}
