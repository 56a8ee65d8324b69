package recert

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // RFC 5280 key identifiers are SHA-1
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"reflect"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"

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

// keyID computes an identifier of a key, given as subjectPublicKeyInfo and parsed; nil where the method does not apply.
type keyID func(info []byte, key crypto.PublicKey) []byte

// keyIDs are the methods in use: RFC 5280 4.2.1.2 (1), RFC 7093 2 (1), and those of library-go, over the modulus of an RSA key.
func keyIDs() []keyID {
	return []keyID{
		func(info []byte, _ crypto.PublicKey) []byte {
			sum := sha1.Sum(keyBits(info)) //nolint:gosec // an identifier, not a signature
			return sum[:]
		},
		func(info []byte, _ crypto.PublicKey) []byte {
			sum := sha256.Sum256(keyBits(info))
			return sum[:20]
		},
		func(_ []byte, key crypto.PublicKey) []byte {
			if k, ok := key.(*rsa.PublicKey); ok {
				sum := sha1.Sum(k.N.Bytes()) //nolint:gosec // an identifier, not a signature
				return sum[:]
			}
			return nil
		},
		func(_ []byte, key crypto.PublicKey) []byte {
			if k, ok := key.(*rsa.PublicKey); ok {
				sum := sha256.Sum256(k.N.Bytes())
				return sum[:]
			}
			return nil
		},
	}
}

// likeKeyID computes the identifier of the new key by the method that gave the old one; by RFC 5280's if none did.
func likeKeyID(old, oldInfo []byte, oldKey crypto.PublicKey, info []byte, key crypto.PublicKey) ([]byte, error) {
	for _, method := range keyIDs() {
		if bytes.Equal(method(oldInfo, oldKey), old) {
			if id := method(info, key); id != nil {
				return id, nil
			}
		}
	}
	id := keyIDs()[0](info, key)
	if bytes.Equal(id, old) {
		return nil, errors.New("the new key has the identifier of the old one")
	}
	return id, nil
}

// keyBits is the content of subjectPublicKey.
func keyBits(info []byte) []byte {
	input := cryptobyte.String(info)
	var outer, algorithm cryptobyte.String
	var bits []byte
	if !input.ReadASN1(&outer, cbasn1.SEQUENCE) || !outer.ReadASN1(&algorithm, cbasn1.SEQUENCE) || !outer.ReadASN1BitStringAsBytes(&bits) {
		return nil
	}
	return bits
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
