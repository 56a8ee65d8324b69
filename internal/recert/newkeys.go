package recert

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// A leaf is signed again for the key it has, wherever that is: whoever holds it goes on using it. Only where the cluster has a
// place for the key beside the certificate ("tls.key" beside "tls.crt"), that place is empty, and the key is nowhere else, is
// there nothing to go on with: then the leaf gets a new key, which is put into the place.
//
// A new key is not a function of the data. What holds one is written before anything else, and the record (progress.go) has the
// certificate: a run that died finds the key in the cluster, or nothing of it was written and another key will do.

// newKeys are the places of keys that are made anew, with what they get.
type newKeys struct {
	// texts are PEM by place.
	texts map[string]string
	// holders are the objects and files with such a place.
	holders map[string]bool
}

// newKeyFor makes a leaf a key, if it needs one; nil is not needed.
func (s *scan) newKeyFor(files host.Files, leaf *certificate, random io.Reader) (crypto.Signer, error) {
	if leaf.IsCA {
		return nil, nil
	}
	key, err := s.recordedKey(leaf)
	if err != nil || key == nil && s.pki.keyOf(leaf) != nil {
		return nil, err
	}
	blank, err := s.blankPlaces(files, leaf)
	if err != nil {
		return nil, err
	}
	if key == nil {
		if len(blank) == 0 {
			return nil, nil
		}
		if key, err = keyLike(leaf.PublicKey, random); err != nil {
			return nil, err
		}
	}
	s.fill(blank, key)
	return key, nil
}

// fill notes what the empty places get.
func (s *scan) fill(blank []place, key crypto.Signer) {
	for _, at := range blank {
		s.made.texts[at.where], s.made.holders[at.container] = keyText(key), true
		s.plan.Changes = append(s.plan.Changes, Change{NewKey, at.where, "its key is not in the cluster: the certificate gets a new one"})
	}
}

// blankPlaces are the empty places for a leaf's key. The container of a file's is the file itself.
func (s *scan) blankPlaces(files host.Files, leaf *certificate) ([]place, error) {
	var out []place
	for _, at := range leaf.places {
		stem, ok := strings.CutSuffix(at.where, ".crt")
		if !ok || at.index > 0 {
			continue
		}
		if !strings.HasPrefix(at.container, storagePrefix) {
			data, err := files.Read(stem + ".key")
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("look for a key beside %s: %w", at.where, err)
			}
			if err == nil && len(bytes.TrimSpace(data)) == 0 {
				out = append(out, place{container: stem + ".key", where: stem + ".key"})
			}
			continue
		}
		err := s.walkObject(at.container, func(path []string, text string) {
			if where := at.container + " " + strings.Join(path, "/"); where == stem+".key" && strings.TrimSpace(text) == "" {
				out = append(out, place{container: at.container, where: where})
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (s *scan) walkObject(key string, see func(path []string, text string)) error {
	for _, o := range s.objects {
		if o.key == key {
			return o.walk(see)
		}
	}
	return nil
}

// recordedKey is the key that an interrupted run gave the leaf, if it came to write it.
func (s *scan) recordedKey(leaf *certificate) (crypto.Signer, error) {
	was, err := s.resume.certificate(leaf.Raw)
	if err != nil || was == nil || bytes.Equal(was.RawSubjectPublicKeyInfo, leaf.RawSubjectPublicKeyInfo) {
		return nil, err
	}
	return s.pki.keysByPublic()[string(was.RawSubjectPublicKeyInfo)], nil
}

// keyLike makes a key of the kind and size of another.
func keyLike(public crypto.PublicKey, random io.Reader) (crypto.Signer, error) {
	switch k := public.(type) {
	case *rsa.PublicKey:
		return rsa.GenerateKey(random, max(k.N.BitLen(), 2048))
	case *ecdsa.PublicKey:
		return ecdsa.GenerateKey(k.Curve, random)
	case ed25519.PublicKey:
		_, key, err := ed25519.GenerateKey(random)
		return key, err
	}
	return nil, fmt.Errorf("a key of type %T cannot be made", public)
}

// keyText writes a key in the form that OpenShift's operators give one of its kind.
func keyText(key crypto.Signer) string {
	for _, label := range []string{"RSA PRIVATE KEY", "EC PRIVATE KEY", "PRIVATE KEY"} {
		if der := encodeKey(label, key); der != nil {
			return string(pem.EncodeToMemory(&pem.Block{Type: label, Bytes: der}))
		}
	}
	return ""
}

// rekeyRecorded continues with a leaf that an interrupted run gave a new key: with that key if it was written, else with another one.
func (s *scan) rekeyRecorded(files host.Files, leaf *certificate, random io.Reader) error {
	was := leaf.reissued
	if leaf.IsCA || bytes.Equal(was.RawSubjectPublicKeyInfo, leaf.RawSubjectPublicKeyInfo) {
		return nil
	}
	key, err := s.newKeyFor(files, leaf, random)
	if err != nil || key == nil || samePublic(key.Public(), was.PublicKey) {
		return err
	}
	for _, ca := range s.pki.everything() {
		authority, signer := ca.Certificate, s.pki.keyOf(ca)
		if ca.reissued != nil {
			authority = ca.reissued
		}
		if fresh, ok := s.pki.newKeys[string(ca.RawSubjectPublicKeyInfo)]; ok {
			signer = fresh
		}
		if signer == nil || authority.CheckSignature(was.SignatureAlgorithm, was.RawTBSCertificate, was.Signature) != nil {
			continue
		}
		var ch change
		if err := ch.takeKey(was, key, false); err != nil {
			return err
		}
		if leaf.reissued, err = reissue(was, signer, ch, random); err == nil {
			s.plan.signed = map[string]string{fingerprintOf(leaf.Raw): base64.StdEncoding.EncodeToString(leaf.reissued.Raw)}
		}
		return err
	}
	return fmt.Errorf("continue an earlier run: nothing here signed the new certificate of %q", leaf.Subject)
}
