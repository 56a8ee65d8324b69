package recert

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
)

// Key is one private or public key.
type Key struct {
	Algorithm string `json:"algorithm"`
	// Fingerprint is the SHA-256 of the public key (subjectPublicKeyInfo, RFC 5280 4.1); empty where it is of an unknown kind.
	Fingerprint string   `json:"fingerprint,omitempty"`
	Places      []string `json:"places"`
}

// keyList lists keys, each once.
func keyList(files []*keyFile) []Key {
	var out []Key
	index := map[[sha256.Size]byte]int{}
	for _, k := range files {
		der := k.der()
		if der == nil {
			continue // its label says that it is a key, and it is none
		}
		sum := sha256.Sum256(der)
		at, known := index[sum]
		if !known {
			at = len(out)
			index[sum] = at
			public := k.public()
			out = append(out, Key{Algorithm: keyAlgorithm(public), Fingerprint: keyFingerprint(public)})
		}
		out[at].Places = append(out[at].Places, k.where)
	}
	return out
}

// public is the key, or that of a private key; nil is of a kind that nothing here is signed with.
func (k *keyFile) public() crypto.PublicKey {
	switch {
	case k.kind == privateKeyBlob && k.private() != nil:
		return k.private().Public()
	case k.kind == publicKeyBlob && k.label == "RSA PUBLIC KEY":
		if key, err := x509.ParsePKCS1PublicKey(k.der()); err == nil {
			return key
		}
	case k.kind == publicKeyBlob:
		if key, err := x509.ParsePKIXPublicKey(k.der()); err == nil {
			return key
		}
	}
	return nil
}

func keyFingerprint(key crypto.PublicKey) string {
	if key == nil {
		return ""
	}
	info, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(info)
	return hex.EncodeToString(sum[:])
}

func keyAlgorithm(key crypto.PublicKey) string {
	switch key.(type) {
	case *rsa.PublicKey:
		return "RSA"
	case *ecdsa.PublicKey:
		return "ECDSA"
	case ed25519.PublicKey:
		return "Ed25519"
	default:
		return "unknown"
	}
}
