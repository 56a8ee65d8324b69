package certs

import (
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"reflect"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// Load reads the keys and certificates that the rules name.
func (t *Tree) Load(files host.Files) error {
	t.Keys, t.certs = map[string]crypto.Signer{}, map[string]*x509.Certificate{}
	for _, rule := range t.cfg.UseKeys {
		text := rule.PEM
		if rule.Path != "" {
			data, err := files.Read(rule.Path)
			if err != nil {
				return fmt.Errorf("use_key_rules: read the key of %q: %w", rule.CommonName, err)
			}
			text = string(data)
		}
		key := FirstKey(text)
		if key == nil {
			return fmt.Errorf("use_key_rules: no private key for %q in %s", rule.CommonName, orInline(rule.Path))
		}
		t.Keys[rule.CommonName] = key
	}
	for _, rule := range t.cfg.UseCerts {
		text, where := rule, ""
		if rule[0] == '/' {
			data, err := files.Read(rule)
			if err != nil {
				return fmt.Errorf("use_cert_rules: %w", err)
			}
			text, where = string(data), rule
		}
		cert := FirstCertificate(text)
		if cert == nil {
			return fmt.Errorf("use_cert_rules: no certificate in %s", orInline(where))
		}
		t.certs[cert.Subject.CommonName] = cert
	}
	return nil
}

func orInline(path string) string {
	if path == "" {
		return "the text of the rule"
	}
	return path
}

// takeKey gives a certificate a new key of its own. The algorithm of its signature stays, so a key of another kind does not do
// where it signs itself.
func (ch *change) takeKey(cert *x509.Certificate, key crypto.Signer, self bool) error {
	if self && reflect.TypeOf(key.Public()) != reflect.TypeOf(cert.PublicKey) {
		return fmt.Errorf("use_key_rules: the key for %q is of another kind than the one it replaces", cert.Subject.CommonName)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("encode the public key: %w", err)
	}
	ch.public = public
	if len(cert.SubjectKeyId) == 0 {
		return nil
	}
	if ch.subjectKey, err = likeKeyID(cert.SubjectKeyId, cert.RawSubjectPublicKeyInfo, cert.PublicKey, public, key.Public()); err != nil {
		return err
	}
	if self && len(cert.AuthorityKeyId) > 0 {
		ch.authorityKey = ch.subjectKey
	}
	return nil
}

// replacementKey is the DER that takes the place of a key; nil keeps it.
func (p *PKI) replacementKey(b wire.Blob) []byte {
	if len(p.newKeys) == 0 || b.Kind == wire.PublicKeyBlob && !p.everyKey {
		return nil
	}
	public := (&KeyFile{Blob: b}).Public()
	if public == nil {
		return nil
	}
	info, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return nil
	}
	fresh, ok := p.newKeys[string(info)]
	switch {
	case !ok:
		return nil
	case b.Kind == wire.PublicKeyBlob:
		return encodePublic(b.Label, fresh.Public())
	}
	return encodeKey(b.Label, fresh)
}

// Adopt continues with what an interrupted run signed.
func (p *PKI) Adopt(record config.Record, keys map[string]crypto.Signer) error {
	for _, cert := range p.Everything() {
		was, err := record.Certificate(cert.Raw)
		if err != nil {
			return fmt.Errorf("read what an interrupted run signed: %w", err)
		}
		cert.Reissued = was
	}
	for public, name := range record.Rekeyed {
		info, err := base64.StdEncoding.DecodeString(public)
		if err != nil || keys[name] == nil {
			return fmt.Errorf("continue an interrupted run: there is no key for %q", name)
		}
		p.newKeys[string(info)] = keys[name]
	}
	return nil
}

// Resign signs what an interrupted run signed once more, for another key.
func (p *PKI) Resign(leaf *Certificate, key crypto.Signer, random io.Reader) error {
	was := leaf.Reissued
	for _, ca := range p.Everything() {
		authority, signer := ca.Certificate, p.KeyOf(ca)
		if ca.Reissued != nil {
			authority = ca.Reissued
		}
		if fresh, ok := p.newKeys[string(ca.RawSubjectPublicKeyInfo)]; ok {
			signer = fresh
		}
		if signer == nil || authority.CheckSignature(was.SignatureAlgorithm, was.RawTBSCertificate, was.Signature) != nil {
			continue
		}
		var ch change
		if err := ch.takeKey(was, key, false); err != nil {
			return fmt.Errorf("give it another key: %w", err)
		}
		fresh, err := reissueCertificate(was, signer, ch, random)
		leaf.Reissued = fresh
		return err
	}
	return fmt.Errorf("continue an interrupted run: no authority here signed the new certificate of %q", leaf.Subject)
}
