package certs

import (
	"bytes"
	"errors"
	"fmt"
	"time"
)

// SigningBySuccessor finds an authority that takes the place of the one that signed a leaf, whose key is gone because authorities
// of its kind rotate. Of those that may, the one that lasts longest signs. The leaf keeps everything but its names and its issuer.
func (p *PKI) SigningBySuccessor(leaf *Certificate, now time.Time, may func(*Certificate) bool) (*Signing, error) {
	successor := p.Successor(leaf, now, may)
	if successor == nil {
		return nil, errors.New("no successor of its issuer is in the cluster that is valid for as long")
	}
	key := p.KeyOf(successor)
	if err := p.outside(leaf, successor, p.mapping); err != nil {
		return nil, err
	}
	algorithm, err := usualFor(key.Public())
	if err != nil {
		return nil, fmt.Errorf("sign with the key of %q: %w", successor.Subject.CommonName, err)
	}
	return &Signing{Leaf: leaf, issuer: successor, with: key, beside: p.keyBeside(leaf), change: change{
		names: p.mapping, algorithm: algorithm, issuer: successor.RawSubject, authorityKey: successor.SubjectKeyId}}, nil
}

// Successor is the authority that lasts longest of those that may sign, can, and last as long as the leaf; nil for none.
func (p *PKI) Successor(leaf *Certificate, now time.Time, may func(*Certificate) bool) (successor *Certificate) {
	for _, authorities := range p.cas {
		for _, ca := range authorities {
			if !may(ca) || now.Before(ca.NotBefore) || ca.NotAfter.Before(leaf.NotAfter) || p.KeyOf(ca) == nil {
				continue
			}
			if successor == nil || outlasts(ca, successor) {
				successor = ca
			}
		}
	}
	return successor
}

// outlasts orders authorities by their end, and where that is the same by their bytes: two runs choose the same one.
func outlasts(a, b *Certificate) bool {
	if !a.NotAfter.Equal(b.NotAfter) {
		return a.NotAfter.After(b.NotAfter)
	}
	return bytes.Compare(a.Raw, b.Raw) > 0
}
