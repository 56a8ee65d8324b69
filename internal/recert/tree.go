package recert

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// tree is the work of the rules that reach further than the leaves of changed addresses: other names, another validity,
// authorities with other keys. What an authority gets, those it signed have to follow, so it goes from the top down.
type tree struct {
	cfg     Config
	names   Mapping
	now     time.Time
	pki     *pki
	rand    io.Reader
	newKey  func(*certificate) (crypto.Signer, error) // for a leaf that needs one; see newkeys.go
	keys    map[string]crypto.Signer                  // of use_key_rules, by common name
	found   map[string]bool                           // common names of authorities
	certs   map[string]*x509.Certificate              // of use_cert_rules, by common name
	cannot  func(*certificate, error)                 // decides what a leaf means that keeps a name it should not have
	signers map[*certificate]*certificate             // who signed whom, where that is in the cluster
	parents map[*certificate]bool
	done    map[*certificate]bool
	plan    *Plan
}

// reissueTrees signs everything again that the rules reach.
func (s *scan) reissueTrees(files host.Files, rand io.Reader) error {
	t := &tree{cfg: s.cfg, names: s.mapping, now: s.now, pki: s.pki, rand: rand, plan: s.plan,
		cannot: s.cannotReissue, found: map[string]bool{}, signers: map[*certificate]*certificate{},
		parents: map[*certificate]bool{}, done: map[*certificate]bool{}}
	t.newKey = func(leaf *certificate) (crypto.Signer, error) { return s.newKeyFor(files, leaf, rand) }
	if err := t.load(files); err != nil {
		return err
	}
	if len(s.resume.Certificates) > 0 { // an interrupted run has signed already
		return s.takeOver(files, t.keys, rand)
	}
	t.plan.signed, t.plan.rekeyed = map[string]string{}, map[string]string{}
	all := s.pki.everything()
	for _, cert := range all {
		if signer := s.pki.signerIn(cert); signer != nil && signer != cert {
			t.signers[cert], t.parents[signer] = signer, true
		}
	}
	for _, cert := range all {
		if err := t.visit(cert); err != nil {
			return err
		}
	}
	t.refuseUnmatched()
	return nil
}

// refuseUnmatched blocks a plan with a rule for an authority that the cluster does not have: it would come to nothing, unseen.
func (t *tree) refuseUnmatched() {
	for _, name := range slices.Sorted(maps.Keys(t.keys)) {
		t.refuseUnless(name, "use_key_rules")
	}
	for _, name := range slices.Sorted(maps.Keys(t.certs)) {
		t.refuseUnless(name, "use_cert_rules")
	}
}

func (t *tree) refuseUnless(authority, rules string) {
	if !t.found[authority] {
		t.plan.Blocked = append(t.plan.Blocked, Note{rules, fmt.Sprintf("no authority of the cluster has the common name %q", authority)})
	}
}

// visit signs a certificate again if it has to be, after the one that signed it.
func (t *tree) visit(cert *certificate) error {
	if t.done[cert] {
		return nil
	}
	t.done[cert] = true
	t.found[cert.Subject.CommonName] = t.found[cert.Subject.CommonName] || cert.IsCA
	signer := t.signers[cert]
	if signer != nil {
		if err := t.visit(signer); err != nil {
			return err
		}
	}
	if given, ok := t.certs[cert.Subject.CommonName]; ok && cert.IsCA {
		return t.replace(cert, given)
	}
	ch := t.changeOf(cert, signer)
	if ch == nil {
		return nil
	}
	if err := t.renew(cert, signer, *ch); err != nil {
		return fmt.Errorf("re-issue the certificate of %q in %s: %w", cert.Subject, cert.places[0].where, err)
	}
	return nil
}

// changeOf is what the rules and the certificate's authority make of it; nil is nothing.
func (t *tree) changeOf(cert, signer *certificate) *change {
	ch := change{names: t.names, keepSerial: cert.IsCA}
	if cert.IsCA && t.cfg.AddressesOnly {
		ch.names = Mapping{}
	}
	_, needed := mappedNames(cert.Certificate, ch.names)
	if key, ok := t.keys[cert.Subject.CommonName]; ok && cert.IsCA && !samePublic(key.Public(), cert.PublicKey) {
		cert.rekey, needed = key, true
	}
	if period := t.period(cert.Certificate); period != nil {
		ch.validity, needed = period, true
	}
	if signer != nil && signer.reissued != nil {
		if !bytes.Equal(signer.RawSubject, signer.reissued.RawSubject) {
			ch.issuer, needed = signer.reissued.RawSubject, true
		}
		if signer.rekey != nil {
			ch.authorityKey, needed = signer.reissued.SubjectKeyId, true
		}
	}
	if !needed {
		return nil
	}
	return &ch
}

// period is the validity that is asked for; nil keeps the old one.
func (t *tree) period(cert *x509.Certificate) *validity {
	now := t.now.UTC().Truncate(time.Second)
	switch {
	case t.cfg.Expiry == ExtendExpiry:
		return &validity{now, now.Add(cert.NotAfter.Sub(cert.NotBefore))}
	case t.cfg.Expiry == ForceExpiry && cert.NotAfter.After(now):
		from := cert.NotBefore
		if from.After(now) {
			from = now
		}
		return &validity{from, now}
	}
	return nil
}

// replace puts the certificate that the cluster had before in the place of one of its name.
func (t *tree) replace(cert *certificate, given *x509.Certificate) error {
	if given.Equal(cert.Certificate) {
		return nil
	}
	if t.parents[cert] {
		t.plan.Blocked = append(t.plan.Blocked, Note{cert.places[0].where,
			"use_cert_rules cannot replace it: certificates of the cluster are signed by it"})
		return nil
	}
	cert.reissued = given
	t.listed(cert)
	return nil
}

// fingerprintOf is how the record of a run names a certificate.
func fingerprintOf(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}
