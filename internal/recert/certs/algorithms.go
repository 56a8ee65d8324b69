package certs

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"fmt"
	"slices"
)

// Certificates live for ten years, and users' own may be signed with what was usual then. A signature with SHA-1 is verified, to find
// out who made it, and not made again; one that crypto/x509 does not verify says nothing.

// IsVerified reports whether signatures of an algorithm tell who signed.
func IsVerified(algorithm x509.SignatureAlgorithm) bool {
	_, signs := signatureHash(algorithm)
	return signs || slices.Contains([]x509.SignatureAlgorithm{x509.SHA1WithRSA, x509.ECDSAWithSHA1}, algorithm)
}

// algorithmName is how errors name an algorithm.
func algorithmName(algorithm x509.SignatureAlgorithm) string {
	if algorithm == x509.UnknownSignatureAlgorithm {
		return "an unknown algorithm"
	}
	return algorithm.String()
}

// substitute is an algorithm that takes the place of another one. Its zero value keeps the algorithm.
type substitute struct {
	x509.SignatureAlgorithm
	encoded []byte // AlgorithmIdentifier (RFC 5280 4.1.1.2)
}

// substituteFor decides what a certificate is signed with by a key. One that is not essential is not given another algorithm: its user
// may have a reason for the old one.
func substituteFor(algorithm x509.SignatureAlgorithm, key crypto.PublicKey, essential bool) (substitute, error) {
	if _, ok := signatureHash(algorithm); ok {
		return substitute{}, nil
	}
	if !essential {
		return substitute{}, fmt.Errorf("it is signed with %s, which nothing is signed with any more", algorithmName(algorithm))
	}
	s, err := usualFor(key)
	if err != nil {
		return substitute{}, fmt.Errorf("it is signed with %s: %w", algorithmName(algorithm), err)
	}
	return s, nil
}

// usualFor is the usual algorithm for a key.
func usualFor(key crypto.PublicKey) (substitute, error) {
	fresh, oid := algorithmOf(key)
	if oid == nil {
		return substitute{}, fmt.Errorf("no algorithm is known for a key of type %T", key)
	}
	id := struct {
		Algorithm  asn1.ObjectIdentifier
		Parameters asn1.RawValue `asn1:"optional"`
	}{Algorithm: oid}
	if fresh == x509.SHA256WithRSA {
		id.Parameters = asn1.NullRawValue // RFC 4055 5
	}
	encoded, err := asn1.Marshal(id)
	if err != nil {
		return substitute{}, fmt.Errorf("encode the algorithm %s: %w", fresh, err)
	}
	return substitute{fresh, encoded}, nil
}

// algorithmOf is what OpenShift's operators sign with by such a key.
func algorithmOf(key crypto.PublicKey) (x509.SignatureAlgorithm, asn1.ObjectIdentifier) {
	switch k := key.(type) {
	case *rsa.PublicKey:
		return x509.SHA256WithRSA, asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 11}
	case ed25519.PublicKey:
		return x509.PureEd25519, asn1.ObjectIdentifier{1, 3, 101, 112}
	case *ecdsa.PublicKey:
		switch bits := k.Curve.Params().BitSize; {
		case bits <= 256:
			return x509.ECDSAWithSHA256, asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 2}
		case bits <= 384:
			return x509.ECDSAWithSHA384, asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 3}
		default:
			return x509.ECDSAWithSHA512, asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 4}
		}
	}
	return x509.UnknownSignatureAlgorithm, nil
}
