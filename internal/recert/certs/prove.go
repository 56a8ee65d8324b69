package certs

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/replace"
)

// mappedNames lists the names that a certificate should have (common name, DNS names, addresses, URIs) and reports whether any differs
// from what it has.
func mappedNames(cert *x509.Certificate, m replace.Mapping) (names []string, changed bool) {
	add := func(name string, ok bool) {
		names, changed = append(names, name), changed || ok
	}
	add(m.CommonName(cert.Subject.CommonName))
	for _, n := range cert.DNSNames {
		add(m.Name(n))
	}
	for _, ip := range cert.IPAddresses {
		a, _ := netip.AddrFromSlice(ip)
		add(m.Host(a.Unmap().String()))
	}
	for _, u := range cert.URIs {
		text := u.String()
		mapped := m.URL(text)
		add(mapped, mapped != text)
	}
	return names, changed
}

// NamesOf lists the names of a certificate.
func NamesOf(cert *x509.Certificate) []string {
	names, _ := mappedNames(cert, replace.Mapping{})
	return names
}

// checkReissued checks a re-issued certificate before anything is written: its authority signed it, it is for the key that it had
// or was given and for the one beside it, and it has exactly the requested names and validity.
func (c *Certificate) checkReissued(authority *Certificate, beside crypto.Signer, ch change) error {
	by, fresh := authority.Certificate, c.Reissued
	if authority.Reissued != nil {
		by = authority.Reissued
	}
	from, until := c.NotBefore, c.NotAfter
	if ch.validity != nil {
		from, until = ch.validity.notBefore, ch.validity.notAfter
	}
	ownsKey := len(c.AuthorityKeyId) > 0 && bytes.Equal(c.AuthorityKeyId, authority.SubjectKeyId)
	switch {
	case by.CheckSignature(fresh.SignatureAlgorithm, fresh.RawTBSCertificate, fresh.Signature) != nil:
		return errors.New("does not chain to its issuer")
	case !bytes.Equal(fresh.RawIssuer, by.RawSubject):
		return errors.New("does not name its issuer")
	case ownsKey && len(by.SubjectKeyId) > 0 && !bytes.Equal(fresh.AuthorityKeyId, by.SubjectKeyId):
		return errors.New("does not name its issuer's key")
	case c.Rekey == nil && !bytes.Equal(fresh.RawSubjectPublicKeyInfo, c.RawSubjectPublicKeyInfo):
		return errors.New("is for another key")
	case beside != nil && !SamePublic(beside.Public(), fresh.PublicKey):
		return errors.New("does not match the key beside it")
	case !fresh.NotBefore.Equal(from) || !fresh.NotAfter.Equal(until):
		return errors.New("has another validity")
	}
	want, _ := mappedNames(c.Certificate, ch.names)
	return sameNames(want, NamesOf(fresh))
}

func sameNames(want, got []string) error {
	for _, name := range want {
		if !slices.Contains(got, name) {
			return fmt.Errorf("does not name %s", name)
		}
	}
	for _, name := range got {
		if !slices.Contains(want, name) {
			return fmt.Errorf("names %s", name)
		}
	}
	return nil
}
