package recert

import (
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"fmt"
	"io"
	"slices"
)

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
	if isSalted(algorithm) {
		return key.Sign(rand, h.Sum(nil), &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: hash})
	}
	return key.Sign(nil, h.Sum(nil), opts)
}

// isSalted says that signatures of the algorithm differ from one to the next.
func isSalted(algorithm x509.SignatureAlgorithm) bool {
	return slices.Contains([]x509.SignatureAlgorithm{x509.SHA256WithRSAPSS, x509.SHA384WithRSAPSS, x509.SHA512WithRSAPSS}, algorithm)
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
