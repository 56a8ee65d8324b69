package clustertest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha512"
	"fmt"
)

// Algorithm is a kind of key.
type Algorithm int

// Kinds of keys.
const (
	P256 Algorithm = iota
	P384
	Ed25519
	RSA
)

// Keyring makes keys. Keys of elliptic curves follow from the seed; RSA keys are slow to make, so there are a few, and
// clusters of one Keyring share them.
type Keyring struct{ rsa []*rsa.PrivateKey }

const rsaKeys = 3

// NewKeyring makes the RSA keys.
func NewKeyring() (*Keyring, error) {
	k := &Keyring{}
	for range rsaKeys {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return nil, fmt.Errorf("make an RSA key: %w", err)
		}
		k.rsa = append(k.rsa, key)
	}
	return k, nil
}

// key makes the key of that name. A name always has the same.
func (k *Keyring) key(seed uint64, name string, a Algorithm) crypto.Signer {
	sum := sha512.Sum512(fmt.Appendf(nil, "%d %s", seed, name))
	switch a {
	case RSA:
		return k.rsa[int(sum[0])%len(k.rsa)]
	case Ed25519:
		return ed25519.NewKeyFromSeed(sum[:ed25519.SeedSize])
	case P384:
		return curveKey(elliptic.P384(), sum[:48])
	default: // P-256, below
	}
	return curveKey(elliptic.P256(), sum[:32])
}

// curveKey clears the scalar's first bit, so that it is below the order of the curve.
func curveKey(c elliptic.Curve, scalar []byte) *ecdsa.PrivateKey {
	scalar[0] &= 0x7f
	key, err := ecdsa.ParseRawPrivateKey(c, scalar)
	if err != nil {
		panic(fmt.Sprintf("a scalar that cannot be: %v", err)) // one in 2^256
	}
	return key
}
