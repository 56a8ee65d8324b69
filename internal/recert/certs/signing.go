package certs

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
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
	if IsSalted(algorithm) {
		return key.Sign(rand, h.Sum(nil), &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: hash})
	}
	return key.Sign(nil, h.Sum(nil), hash)
}

// IsSalted reports whether two signatures of the algorithm differ.
func IsSalted(algorithm x509.SignatureAlgorithm) bool {
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
	default: // MD5, SHA-1 and DSA are not renewed
	}
	return 0, false
}

// Signing is what it takes to sign a leaf again.
type Signing struct {
	Leaf   *Certificate
	issuer *Certificate
	with   crypto.Signer // the issuer's key
	beside crypto.Signer // the leaf's own key, if it is there
	change
}

// SigningOf finds the authority that signed a leaf, its key and the leaf's own, unless the leaf cannot be signed again. An essential leaf
// gets another algorithm where nothing is signed with its own any more.
func (p *PKI) SigningOf(leaf *Certificate, essential bool) (*Signing, error) {
	issuer, key, err := p.Issuer(leaf)
	if err != nil {
		return nil, err
	}
	if err := p.checkConstraints(leaf, issuer, p.mapping); err != nil {
		return nil, err
	}
	algorithm, err := substituteFor(leaf.SignatureAlgorithm, key.Public(), essential)
	if err != nil {
		return nil, err
	}
	return &Signing{Leaf: leaf, issuer: issuer, with: key, beside: p.keyBeside(leaf),
		change: change{names: p.mapping, algorithm: algorithm}}, nil
}

// GiveKey signs the leaf for a new key.
func (w *Signing) GiveKey(key crypto.Signer) error {
	w.beside, w.Leaf.Rekey = key, key
	return w.takeKey(w.Leaf.Certificate, key, false)
}

// SignTogether signs leaves and proves each, as many at a time as there are processors. Salted signatures are made one after the other,
// because they read from rand.
func SignTogether(all []*Signing, rand io.Reader) error {
	var others errgroup.Group
	others.SetLimit(runtime.GOMAXPROCS(0))
	for _, work := range all {
		if !IsSalted(work.Leaf.SignatureAlgorithm) {
			others.Go(func() error { return work.signAndCheck(rand) })
		}
	}
	err := others.Wait()
	for _, work := range all {
		if err == nil && IsSalted(work.Leaf.SignatureAlgorithm) {
			err = work.signAndCheck(rand)
		}
	}
	return err
}

func (w *Signing) signAndCheck(rand io.Reader) (err error) {
	if w.Leaf.Reissued == nil {
		if w.Leaf.Reissued, err = reissueCertificate(w.Leaf.Certificate, w.with, w.change, rand); err != nil {
			return w.Failed(err)
		}
	}
	if err := w.Leaf.checkReissued(w.issuer, w.beside, w.change); err != nil {
		return w.Failed(err)
	}
	return nil
}

// Failed says which certificate an error is about.
func (w *Signing) Failed(err error) error {
	return fmt.Errorf("re-issue the certificate of %q in %s: %w", w.Leaf.Subject, w.Leaf.Places[0].Where, err)
}

// SigningBySuccessor finds an authority that takes the place of the one that signed a leaf, whose key is gone because authorities
// of its kind rotate. Of those that may, the one that lasts longest signs. The leaf keeps everything but its names and its issuer.
func (p *PKI) SigningBySuccessor(leaf *Certificate, now time.Time, may func(*Certificate) bool) (*Signing, error) {
	successor := p.Successor(leaf, now, may)
	if successor == nil {
		return nil, errors.New("no successor of its issuer is in the cluster that is valid for as long")
	}
	key := p.KeyOf(successor)
	if err := p.checkConstraints(leaf, successor, p.mapping); err != nil {
		return nil, err
	}
	algorithm, err := usualFor(key.Public())
	if err != nil {
		return nil, fmt.Errorf("sign with the key of %q: %w", successor.Subject.CommonName, err)
	}
	return &Signing{Leaf: leaf, issuer: successor, with: key, beside: p.keyBeside(leaf), change: change{
		names: p.mapping, algorithm: algorithm, issuer: successor.RawSubject, authorityKey: successor.SubjectKeyId}}, nil
}

// Successor is the authority that lasts longest of those that may sign, can, and last as long as the leaf; nil for none.
func (p *PKI) Successor(leaf *Certificate, now time.Time, may func(*Certificate) bool) (successor *Certificate) {
	for _, authorities := range p.cas {
		for _, ca := range authorities {
			if !may(ca) || now.Before(ca.NotBefore) || ca.NotAfter.Before(leaf.NotAfter) || p.KeyOf(ca) == nil {
				continue
			}
			if successor == nil || outlasts(ca, successor) {
				successor = ca
			}
		}
	}
	return successor
}

// outlasts orders authorities by their end, and where that is the same by their bytes: two runs choose the same one.
func outlasts(a, b *Certificate) bool {
	if !a.NotAfter.Equal(b.NotAfter) {
		return a.NotAfter.After(b.NotAfter)
	}
	return bytes.Compare(a.Raw, b.Raw) > 0
}
