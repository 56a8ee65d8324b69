package recert

import (
	"bytes"
	"crypto"
	"encoding/base64"
	"errors"
)

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
	case named && !cert.IsCA: // as where leaves alone are signed again
		t.cannot(cert, errNoIssuerKey)
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
