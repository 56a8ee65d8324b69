package recert

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/certs"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/inspect"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
)

// A leaf is signed again for the key it has, wherever that is stored. It gets a new key only where the place for the key beside the
// certificate ("tls.key" beside "tls.crt") exists and is empty, and the key is not found anywhere else.
//
// A new key is not a function of the data. Objects with one are written before anything else, and the record has the certificate:
// after an interruption the next run finds the key in the cluster, or nothing was written and it makes another.

// newKeyFor makes a key for a leaf that needs one; nil otherwise.
func (p *planner) newKeyFor(leaf *certs.Certificate) (crypto.Signer, error) {
	if leaf.IsCA {
		return nil, nil
	}
	key, err := p.recordedKey(leaf)
	if err != nil || key == nil && p.PKI.KeyOf(leaf) != nil {
		return nil, err
	}
	blank, err := p.blankPlaces(leaf)
	if err != nil {
		return nil, fmt.Errorf("find the place for a key of %q: %w", leaf.Subject, err)
	}
	if key == nil {
		if len(blank) == 0 {
			return nil, nil
		}
		if key, err = certs.KeyLike(leaf.PublicKey, p.ports.Rand); err != nil {
			return nil, fmt.Errorf("make a key: %w", err)
		}
	}
	for _, at := range blank {
		p.made[at.Where], p.holders[at.Container] = certs.KeyText(key), true
		p.AddChange(inspect.NewKey, at.Where, "its key is not in the cluster: the certificate gets a new one")
	}
	return key, nil
}

// blankPlaces are the empty places for a leaf's key. A file is its own container.
func (p *planner) blankPlaces(leaf *certs.Certificate) ([]certs.Place, error) {
	var out []certs.Place
	for _, at := range leaf.Places {
		stem, ok := strings.CutSuffix(at.Where, ".crt")
		if !ok || at.Index > 0 {
			continue
		}
		where := stem + ".key"
		if !strings.HasPrefix(at.Container, rules.StoragePrefix) {
			data, err := p.ports.Files.Read(where)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("read the key beside %s: %w", at.Where, err)
			}
			if err == nil && len(bytes.TrimSpace(data)) == 0 {
				out = append(out, certs.Place{Container: where, Where: where})
			}
			continue
		}
		err := p.walkObject(at.Container, func(path []string, text string) {
			if at.Container+" "+strings.Join(path, "/") == where && strings.TrimSpace(text) == "" {
				out = append(out, certs.Place{Container: at.Container, Where: where})
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (p *planner) walkObject(key string, see func(path []string, text string)) error {
	for _, o := range p.Objects {
		if o.Key == key {
			return o.Walk(see)
		}
	}
	return nil
}

// recordedKey is the key that an interrupted run gave the leaf, if it was written.
func (p *planner) recordedKey(leaf *certs.Certificate) (crypto.Signer, error) {
	was, err := p.Record.Certificate(leaf.Raw)
	if err != nil || was == nil || bytes.Equal(was.RawSubjectPublicKeyInfo, leaf.RawSubjectPublicKeyInfo) {
		return nil, err
	}
	return p.PKI.KeysByPublic()[string(was.RawSubjectPublicKeyInfo)], nil
}

// adoptKeys continues with what an interrupted run signed.
func (p *planner) adoptKeys(keys map[string]crypto.Signer) error {
	if err := p.PKI.Adopt(p.Record, keys); err != nil {
		return fmt.Errorf("continue an interrupted run: %w", err)
	}
	for _, cert := range p.PKI.Everything() {
		if cert.Reissued == nil {
			continue
		}
		if err := p.rekeyRecorded(cert); err != nil {
			return fmt.Errorf("continue with %q: %w", cert.Subject, err)
		}
	}
	return nil
}

// rekeyRecorded continues with a leaf that an interrupted run gave a new key: with that key if it was written, else with another one.
func (p *planner) rekeyRecorded(leaf *certs.Certificate) error {
	was := leaf.Reissued
	if leaf.IsCA || bytes.Equal(was.RawSubjectPublicKeyInfo, leaf.RawSubjectPublicKeyInfo) {
		return nil
	}
	key, err := p.newKeyFor(leaf)
	if err != nil || key == nil || certs.SamePublic(key.Public(), was.PublicKey) {
		return err
	}
	if err := p.PKI.Resign(leaf, key, p.ports.Rand); err != nil {
		return fmt.Errorf("sign %q for another key: %w", leaf.Subject, err)
	}
	if p.plan.signed == nil {
		p.plan.signed = map[string]string{}
	}
	p.recordSigned(leaf)
	return nil
}
