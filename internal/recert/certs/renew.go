package certs

import (
	"bytes"
	"crypto"
	"encoding/base64"
	"errors"
	"fmt"
)

// reissueSigned signs a certificate again by its authority, or by itself.
func (t *Tree) reissueSigned(cert, signer *Certificate, ch change) error {
	self := bytes.Equal(cert.RawIssuer, cert.RawSubject)
	if cert.Rekey != nil {
		if err := ch.takeKey(cert.Certificate, cert.Rekey, self); err != nil {
			return fmt.Errorf("give it a new key: %w", err)
		}
	}
	by := signer
	if self {
		by = cert
	}
	if cause := t.findObstacle(cert, by, &ch); cause != nil {
		if cert.Rekey == nil || !t.cfg.NewKeys {
			t.reportUnsignable(cert, ch, cause)
			return nil
		}
		var err error
		if by, err = t.standIn(cert, cause, &ch); err != nil {
			return err
		}
		self = by == cert
	}
	if err := t.rekeyLeaf(cert, self, &ch); err != nil {
		return fmt.Errorf("give it a new key: %w", err)
	}
	fresh, err := reissueCertificate(cert.Certificate, t.keyOf(by), ch, t.Rand)
	if err != nil {
		return err
	}
	cert.Reissued = fresh
	if err := cert.checkReissued(by, nil, ch); err != nil {
		return fmt.Errorf("prove it: %w", err)
	}
	if _, ruled := t.Keys[cert.Subject.CommonName]; ruled && cert.Rekey != nil && cert.IsCA {
		t.pki.newKeys[string(cert.RawSubjectPublicKeyInfo)] = cert.Rekey
		t.Rekeyed[base64.StdEncoding.EncodeToString(cert.RawSubjectPublicKeyInfo)] = cert.Subject.CommonName
	}
	t.Signed = append(t.Signed, cert)
	return nil
}

// findObstacle returns why an authority cannot sign a certificate again, or completes the change with what it is signed with.
func (t *Tree) findObstacle(cert, by *Certificate, ch *change) (cause error) {
	if by == nil || t.keyOf(by) == nil {
		if !cert.IsCA && !IsVerified(cert.SignatureAlgorithm) {
			_, _, cause = t.pki.Issuer(cert)
			return cause
		}
		return errNoIssuerKey
	}
	if cause = t.pki.checkConstraints(cert, by, ch.names); cause != nil {
		return cause
	}
	ch.algorithm, cause = substituteFor(cert.SignatureAlgorithm, t.keyOf(by).Public(), t.IsEssential(cert))
	return cause
}

// rekeyLeaf gives a leaf a new key where its own is missing; a self-signed one cannot do without.
func (t *Tree) rekeyLeaf(cert *Certificate, self bool, ch *change) error {
	if cert.IsCA || self {
		return nil
	}
	key, err := t.NewKey(cert)
	if err != nil || key == nil {
		return err
	}
	cert.Rekey = key
	return ch.takeKey(cert.Certificate, key, false)
}

func (t *Tree) keyOf(cert *Certificate) crypto.Signer {
	if cert.Rekey != nil {
		return cert.Rekey
	}
	return t.pki.KeyOf(cert)
}

// reportUnsignable reports a certificate that cannot be signed again. Public authorities, of which clusters have many and the keys of none,
// are reported only where a rule names them or their authority changed.
func (t *Tree) reportUnsignable(cert *Certificate, ch change, cause error) {
	_, named := mappedNames(cert.Certificate, ch.names)
	cert.Rekey = nil
	switch {
	case ch.issuer != nil || ch.authorityKey != nil || ch.public != nil:
		t.Refuse(cert.Places[0].Where, "cannot be re-issued: "+cause.Error())
	case named && !cert.IsCA: // as where leaves alone are signed again
		t.OnUnsignable(cert, cause)
	case named || !cert.IsCA || !errors.Is(cause, errNoIssuerKey):
		t.Keep(cert.Places[0].Where, "cannot be re-issued: "+cause.Error())
	}
}
