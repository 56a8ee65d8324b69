package recert

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
)

// Key is one private or public key.
type Key struct {
	Algorithm string   `json:"algorithm"`
	Places    []string `json:"places"`
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
			out = append(out, Key{Algorithm: keyAlgorithm(k.public())})
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
