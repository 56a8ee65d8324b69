package certs

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/replace"
)

// Tree re-issues whole trees of certificates, for rules that reach further than leaves: other names, another validity, authorities
// with other keys. A change of an authority reaches those it signed, so it proceeds from the top down.
type Tree struct {
	cfg   config.Config
	names replace.Mapping
	now   time.Time
	pki   *PKI
	Rand  io.Reader

	NewKey       func(*Certificate) (crypto.Signer, error) // makes a key for a leaf that needs one; nil is not needed
	OnUnsignable func(*Certificate, error)                 // decides what a leaf means that keeps a name it should not have
	Refuse       func(where, why string)                   // blocks the plan
	Keep         func(where, why string)                   // notes what stays
	OnAlone      func(*Certificate, error)                 // notes what is signed with its own new key, and why
	Successor    func(*Certificate) *Certificate           // is who signs instead of an authority whose key is gone; nil for none
	IsEssential  func(*Certificate) bool                   // says what the control plane does not start without

	Keys    map[string]crypto.Signer      // of use_key_rules, by common name
	certs   map[string]*x509.Certificate  // of use_cert_rules, by common name
	found   map[string]bool               // common names of authorities
	signers map[*Certificate]*Certificate // who signed whom, where that is in the cluster
	parents map[*Certificate]bool
	done    map[*Certificate]bool

	Signed  []*Certificate    // Signed again, or replaced, in order
	Rekeyed map[string]string // names by public keys of authorities, in base64, that were given another
}

// NewTree returns a tree over all certificates of a PKI. Rand and the callbacks are set by a caller that re-issues.
func NewTree(cfg config.Config, names replace.Mapping, now time.Time, p *PKI) *Tree {
	return &Tree{cfg: cfg, names: names, now: now, pki: p, found: map[string]bool{}, signers: map[*Certificate]*Certificate{},
		parents: map[*Certificate]bool{}, done: map[*Certificate]bool{}, Rekeyed: map[string]string{}}
}

// Reissue signs everything again that the rules reach.
func (t *Tree) Reissue() error {
	all := t.pki.Everything()
	for _, cert := range all {
		if signer := t.pki.signerIn(cert); signer != nil && signer != cert {
			t.signers[cert], t.parents[signer] = signer, true
		}
	}
	for _, cert := range all {
		if err := t.visitCertificate(cert); err != nil {
			return err
		}
	}
	t.refuseUnmatched()
	return nil
}

// refuseUnmatched blocks a plan with a rule for an authority that the cluster does not have.
func (t *Tree) refuseUnmatched() {
	for _, name := range slices.Sorted(maps.Keys(t.Keys)) {
		t.refuseUnless(name, "use_key_rules")
	}
	for _, name := range slices.Sorted(maps.Keys(t.certs)) {
		t.refuseUnless(name, "use_cert_rules")
	}
}

func (t *Tree) refuseUnless(authority, rules string) {
	if !t.found[authority] {
		t.Refuse(rules, fmt.Sprintf("no authority of the cluster has the common name %q", authority))
	}
}

// visitCertificate signs a certificate again, if needed, after its authority.
func (t *Tree) visitCertificate(cert *Certificate) error {
	if t.done[cert] {
		return nil
	}
	t.done[cert] = true
	t.found[cert.Subject.CommonName] = t.found[cert.Subject.CommonName] || cert.IsCA
	signer := t.signers[cert]
	if signer != nil {
		if err := t.visitCertificate(signer); err != nil {
			return err
		}
	}
	if given, ok := t.certs[cert.Subject.CommonName]; ok && cert.IsCA {
		return t.replaceByGiven(cert, given)
	}
	ch := t.changeOf(cert, signer)
	if ch == nil {
		return nil
	}
	if err := t.reissueSigned(cert, signer, *ch); err != nil {
		return fmt.Errorf("re-issue the certificate of %q in %s: %w", cert.Subject, cert.Places[0].Where, err)
	}
	return nil
}

// changeOf is what the rules and its authority change in a certificate; nil is nothing.
func (t *Tree) changeOf(cert, signer *Certificate) *change {
	ch := change{names: t.names, keepSerial: cert.IsCA}
	if cert.IsCA && t.cfg.AddressesOnly {
		ch.names = replace.Mapping{}
	}
	_, needed := mappedNames(cert.Certificate, ch.names)
	if key, ok := t.Keys[cert.Subject.CommonName]; ok && cert.IsCA && !SamePublic(key.Public(), cert.PublicKey) {
		cert.Rekey, needed = key, true
	} else if fresh := t.pki.newKeys[string(cert.RawSubjectPublicKeyInfo)]; t.cfg.NewKeys && fresh != nil {
		cert.Rekey, needed = fresh, true
	}
	if period := t.requestedValidity(cert.Certificate); period != nil {
		ch.validity, needed = period, true
	}
	if signer != nil && signer.Reissued != nil {
		if !bytes.Equal(signer.RawSubject, signer.Reissued.RawSubject) {
			ch.issuer, needed = signer.Reissued.RawSubject, true
		}
		if signer.Rekey != nil {
			ch.authorityKey, needed = signer.Reissued.SubjectKeyId, true
		}
	}
	if !needed {
		return nil
	}
	return &ch
}

// requestedValidity is the requested validity; nil keeps the old one.
func (t *Tree) requestedValidity(cert *x509.Certificate) *validity {
	now := t.now.UTC().Truncate(time.Second)
	switch {
	case t.cfg.Expiry == config.ExtendExpiry:
		return &validity{now, now.Add(cert.NotAfter.Sub(cert.NotBefore))}
	case t.cfg.Expiry == config.ForceExpiry && cert.NotAfter.After(now):
		// As long as before: an extension afterwards gives back the lifetime that its issuer chose.
		return &validity{now.Add(-cert.NotAfter.Sub(cert.NotBefore)), now}
	}
	return nil
}

// replaceByGiven replaces a certificate by the given one of the same name.
func (t *Tree) replaceByGiven(cert *Certificate, given *x509.Certificate) error {
	if given.Equal(cert.Certificate) {
		return nil
	}
	if t.parents[cert] {
		t.Refuse(cert.Places[0].Where, "use_cert_rules cannot replace it: certificates of the cluster are signed by it")
		return nil
	}
	cert.Reissued = given
	t.Signed = append(t.Signed, cert)
	return nil
}

// Unfinished reports whether a run would replace the certificate or sign it again.
func (t *Tree) Unfinished(cert *Certificate) bool {
	if given, ok := t.certs[cert.Subject.CommonName]; ok && cert.IsCA {
		return !given.Equal(cert.Certificate)
	}
	signer := t.pki.signerIn(cert)
	ch := t.changeOf(cert, signer)
	return ch != nil && t.findObstacle(cert, signer, ch) == nil
}
