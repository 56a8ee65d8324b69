package recert

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"reflect"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// load reads the keys and certificates that the rules name.
func (t *tree) load(files host.Files) error {
	t.keys, t.certs = map[string]crypto.Signer{}, map[string]*x509.Certificate{}
	for _, rule := range t.cfg.UseKeys {
		text := rule.PEM
		if rule.Path != "" {
			data, err := files.Read(rule.Path)
			if err != nil {
				return fmt.Errorf("use_key_rules: read the key of %q: %w", rule.CommonName, err)
			}
			text = string(data)
		}
		key := firstKey(text)
		if key == nil {
			return fmt.Errorf("use_key_rules: no private key for %q in %s", rule.CommonName, orInline(rule.Path))
		}
		t.keys[rule.CommonName] = key
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
		cert := firstCertificate(text)
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

func firstKey(text string) (key crypto.Signer) {
	editPEM(text, func(b blob) []byte {
		if key == nil && b.kind == privateKeyBlob {
			key = parseKey(b.label, b.der())
		}
		return nil
	})
	return key
}

func firstCertificate(text string) (cert *x509.Certificate) {
	editPEM(text, func(b blob) []byte {
		if cert == nil && b.kind == certificateBlob {
			cert, _ = x509.ParseCertificate(b.der())
		}
		return nil
	})
	return cert
}

func samePublic(a, b crypto.PublicKey) bool {
	own, ok := a.(interface{ Equal(crypto.PublicKey) bool })
	return ok && own.Equal(b)
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

// encodeKey writes a key in the form that a PEM label asks for; nil if it has none in that form.
func encodeKey(label string, key crypto.Signer) []byte {
	switch k := key.(type) {
	case *rsa.PrivateKey:
		if label == "RSA PRIVATE KEY" {
			return x509.MarshalPKCS1PrivateKey(k)
		}
	case *ecdsa.PrivateKey:
		if label == "EC PRIVATE KEY" {
			der, _ := x509.MarshalECPrivateKey(k)
			return der
		}
	}
	if label != "PRIVATE KEY" {
		return nil
	}
	der, _ := x509.MarshalPKCS8PrivateKey(key)
	return der
}

// rekeyed is the DER that takes the place of an authority's old key; nil keeps a key.
func (p *pki) rekeyed(b blob) []byte {
	if len(p.newKeys) == 0 {
		return nil
	}
	k := &keyFile{blob: b}
	if k.private() == nil {
		return nil
	}
	public, err := x509.MarshalPKIXPublicKey(k.signer.Public())
	if err != nil {
		return nil
	}
	if fresh, ok := p.newKeys[string(public)]; ok {
		return encodeKey(b.label, fresh)
	}
	return nil
}

// takeOver continues with what an interrupted run signed.
func (s *scan) takeOver(files host.Files, keys map[string]crypto.Signer, rand io.Reader) error {
	if err := s.pki.takeOver(s.resume, keys); err != nil {
		return err
	}
	for _, cert := range s.pki.everything() {
		if cert.reissued == nil {
			continue
		}
		if err := s.rekeyRecorded(files, cert, rand); err != nil {
			return err
		}
	}
	return nil
}

func (p *pki) takeOver(record progress, keys map[string]crypto.Signer) error {
	for _, cert := range p.everything() {
		was, err := record.certificate(cert.Raw)
		if err != nil {
			return err
		}
		cert.reissued = was
	}
	for public, name := range record.Rekeyed {
		info, err := base64.StdEncoding.DecodeString(public)
		if err != nil || keys[name] == nil {
			return fmt.Errorf("continue an earlier run: there is no key for %q", name)
		}
		p.newKeys[string(info)] = keys[name]
	}
	return nil
}
