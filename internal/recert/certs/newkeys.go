package certs

import (
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"fmt"
	"io"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
)

// ReplaceEveryKey has Replace replace public keys too, wherever they stand.
func (p *PKI) ReplaceEveryKey() { p.everyKey = true }

// MakeKeys makes another key, of the same kind and size, for each private key of the cluster: as many at a time as there are processors.
func (p *PKI) MakeKeys(random io.Reader) (config.Keys, error) {
	var mu sync.Mutex
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	keys := config.Keys{}
	for old, key := range p.KeysByPublic() {
		work.Go(func() error {
			fresh, err := KeyLike(key.Public(), random)
			if err != nil {
				return fmt.Errorf("make a new key: %w", err)
			}
			mu.Lock()
			defer mu.Unlock()
			keys[old] = fresh
			return nil
		})
	}
	return keys, work.Wait()
}

// UseKeys has the keys take the place of the cluster's.
func (p *PKI) UseKeys(keys config.Keys) {
	for old, fresh := range keys {
		p.newKeys[old] = fresh
	}
}

// encodePublic writes a public key in the form that a PEM label asks for; nil if it has none in that form.
func encodePublic(label string, key crypto.PublicKey) []byte {
	info, err := x509.MarshalPKIXPublicKey(key)
	if err != nil || label == "PUBLIC KEY" {
		return info
	}
	if rsaKey, ok := key.(*rsa.PublicKey); ok && label == "RSA PUBLIC KEY" {
		return x509.MarshalPKCS1PublicKey(rsaKey)
	}
	return nil
}

// standIn finds who signs a certificate whose authority cannot: a successor, or itself. Its old key must not stay.
func (t *Tree) standIn(cert *Certificate, cause error, ch *change) (by *Certificate, err error) {
	by = t.Successor(cert)
	if by != nil {
		if err := t.visitCertificate(by); err != nil {
			return nil, err
		}
		issuer := by.Certificate
		if by.Reissued != nil {
			issuer = by.Reissued
		}
		ch.issuer, ch.authorityKey = issuer.RawSubject, issuer.SubjectKeyId
	} else {
		by = cert
		ch.alone, ch.authorityKey = true, ch.subjectKey
		t.OnAlone(cert, cause)
	}
	ch.algorithm, err = usualFor(t.keyOf(by).Public())
	return by, err
}
