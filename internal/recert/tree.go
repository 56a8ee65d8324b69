package recert

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
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
	certs   map[string]*x509.Certificate              // of use_cert_rules, by common name
	signers map[*certificate]*certificate             // who signed whom, where that is in the cluster
	parents map[*certificate]bool
	done    map[*certificate]bool
	plan    *Plan
}

// reissueTrees signs everything again that the rules reach.
func (s *scan) reissueTrees(files host.Files, rand io.Reader) error {
	t := &tree{cfg: s.cfg, names: s.mapping, now: s.now, pki: s.pki, rand: rand, plan: s.plan, signers: map[*certificate]*certificate{},
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
	return nil
}

// visit signs a certificate again if it has to be, after the one that signed it.
func (t *tree) visit(cert *certificate) error {
	if t.done[cert] {
		return nil
	}
	t.done[cert] = true
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

func (t *tree) renew(cert, signer *certificate, ch change) error {
	self := bytes.Equal(cert.RawIssuer, cert.RawSubject)
	if cert.rekey != nil {
		if err := ch.takeKey(cert.Certificate, cert.rekey, self); err != nil {
			return err
		}
	}
	by := signer
	if self {
		by = cert
	}
	if by == nil || t.keyOf(by) == nil {
		t.stuck(cert, ch)
		return nil
	}
	if err := t.rekeyLeaf(cert, self, &ch); err != nil {
		return err
	}
	fresh, err := reissue(cert.Certificate, t.keyOf(by), ch, t.rand)
	if err != nil {
		return err
	}
	cert.reissued = fresh
	if err := proveRenewal(cert, by, ch); err != nil {
		return err
	}
	if cert.rekey != nil && cert.IsCA {
		t.pki.newKeys[string(cert.RawSubjectPublicKeyInfo)] = cert.rekey
		t.plan.rekeyed[base64.StdEncoding.EncodeToString(cert.RawSubjectPublicKeyInfo)] = cert.Subject.CommonName
	}
	t.listed(cert)
	return nil
}

// rekeyLeaf gives a leaf a new key where its own is missing. One that signed itself cannot be signed again without it.
func (t *tree) rekeyLeaf(cert *certificate, self bool, ch *change) error {
	if cert.IsCA || self {
		return nil
	}
	key, err := t.newKey(cert)
	if err != nil || key == nil {
		return err
	}
	cert.rekey = key
	return ch.takeKey(cert.Certificate, key, false)
}

func (t *tree) keyOf(cert *certificate) crypto.Signer {
	if cert.rekey != nil {
		return cert.rekey
	}
	return t.pki.keyOf(cert)
}

// stuck reports what cannot be signed again because the key of its authority is not here. Only where a rule names it,
// or what it would follow has changed, is that worth a word: clusters are full of public authorities.
func (t *tree) stuck(cert *certificate, ch change) {
	_, named := mappedNames(cert.Certificate, ch.names)
	cert.rekey = nil
	switch {
	case ch.issuer != nil || ch.authorityKey != nil || ch.public != nil:
		t.plan.Blocked = append(t.plan.Blocked, Note{cert.places[0].where, "cannot be re-issued: " + errNoIssuerKey.Error()})
	case named || !cert.IsCA:
		t.plan.Kept = append(t.plan.Kept, Note{cert.places[0].where, "cannot be re-issued: " + errNoIssuerKey.Error()})
	}
}

func (t *tree) listed(cert *certificate) {
	t.plan.Certificates = append(t.plan.Certificates, reissueOf(cert))
	t.plan.signed[fingerprintOf(cert.Raw)] = base64.StdEncoding.EncodeToString(cert.reissued.Raw)
}

// proveRenewal proves a certificate before anything is written.
func proveRenewal(cert, by *certificate, ch change) error {
	authority := by.Certificate
	if by.reissued != nil {
		authority = by.reissued
	}
	fresh := cert.reissued
	want, _ := mappedNames(cert.Certificate, ch.names)
	got, _ := mappedNames(fresh, Mapping{})
	switch {
	case authority.CheckSignature(fresh.SignatureAlgorithm, fresh.RawTBSCertificate, fresh.Signature) != nil:
		return errors.New("does not chain to its issuer")
	case !bytes.Equal(fresh.RawIssuer, authority.RawSubject):
		return errors.New("does not name its issuer")
	case len(fresh.AuthorityKeyId) > 0 && len(authority.SubjectKeyId) > 0 && len(cert.AuthorityKeyId) > 0 &&
		bytes.Equal(cert.AuthorityKeyId, by.SubjectKeyId) && !bytes.Equal(fresh.AuthorityKeyId, authority.SubjectKeyId):
		return errors.New("does not name its issuer's key")
	case cert.rekey == nil && !bytes.Equal(fresh.RawSubjectPublicKeyInfo, cert.RawSubjectPublicKeyInfo):
		return errors.New("is for another key")
	case len(got) > len(want):
		return errors.New("has more names than it should")
	}
	return nil
}

// fingerprintOf is how the record of a run names a certificate.
func fingerprintOf(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}
