package recert

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// mappedNames lists the names a certificate should carry (common name, DNS names, addresses, URIs) and says whether
// any differs from what it carries.
func mappedNames(cert *x509.Certificate, m Mapping) (names []string, changed bool) {
	add := func(name string, ok bool) {
		names, changed = append(names, name), changed || ok
	}
	add(m.Name(cert.Subject.CommonName))
	for _, n := range cert.DNSNames {
		add(m.Name(n))
	}
	for _, ip := range cert.IPAddresses {
		a, _ := netip.AddrFromSlice(ip)
		add(m.Host(a.Unmap().String()))
	}
	for _, u := range cert.URIs {
		text := u.String()
		mapped := m.cluster.text(m.Text(text))
		add(mapped, mapped != text)
	}
	return names, changed
}

// verifyLeaf proves a re-issued certificate before anything is written: its authority signed it, it is for the key that the
// leaf had, if it was not given another (and for the one at hand), it names what it should and nothing that was replaced.
func verifyLeaf(leaf *certificate, issuer *x509.Certificate, key crypto.Signer, m Mapping) error {
	old, fresh := leaf.Certificate, leaf.reissued
	if err := issuer.CheckSignature(fresh.SignatureAlgorithm, fresh.RawTBSCertificate, fresh.Signature); err != nil {
		return fmt.Errorf("does not chain to its issuer: %w", err)
	}
	if leaf.rekey == nil && !bytes.Equal(old.RawSubjectPublicKeyInfo, fresh.RawSubjectPublicKeyInfo) {
		return errors.New("is for another key")
	}
	if key != nil {
		own, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
		if !ok || !own.Equal(fresh.PublicKey) {
			return errors.New("does not match the key beside it")
		}
	}
	want, _ := mappedNames(old, m)
	got, _ := mappedNames(fresh, Mapping{})
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
	if !fresh.NotBefore.Equal(old.NotBefore) || !fresh.NotAfter.Equal(old.NotAfter) {
		return errors.New("has another validity")
	}
	return nil
}
