package recert

import (
	"encoding/base64"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// reissueLeaves signs every affected leaf again and proves the result.
func (s *scan) reissueLeaves(files host.Files, rand io.Reader) error {
	s.plan.signed = map[string]string{}
	var all []*signing
	for _, leaf := range s.pki.leaves {
		issuer, key, err := s.pki.issuer(leaf)
		if err != nil {
			s.cannotReissue(leaf, err)
			continue
		}
		work := &signing{leaf: leaf, issuer: issuer, with: key, change: change{names: s.mapping}}
		if err := s.prepare(files, work, rand); err != nil {
			return work.failed(err)
		}
		all = append(all, work)
	}
	if err := signTogether(all, rand); err != nil {
		return err
	}
	for _, work := range all {
		s.settleSigned(work.leaf)
	}
	s.keepNamedAuthorities()
	return nil
}

// settleSigned notes a leaf that was signed again. It is recorded where another run would sign another, or where nobody could tell the
// old one from the new one by its names.
func (s *scan) settleSigned(leaf *certificate) {
	if leaf.rekey != nil || isSalted(leaf.SignatureAlgorithm) || s.mapping.Overlaps() {
		s.plan.signed[fingerprintOf(leaf.Raw)] = base64.StdEncoding.EncodeToString(leaf.reissued.Raw)
	}
	s.plan.Certificates = append(s.plan.Certificates, reissueOf(leaf))
}

func (s *scan) keepNamedAuthorities() {
	for _, subject := range slices.Sorted(maps.Keys(s.pki.cas)) {
		for _, ca := range s.pki.cas[subject] {
			if ca.named && !s.mapping.Overlaps() {
				s.keep(ca.places, "is an authority that names an old address; authorities are not changed")
			}
		}
	}
}

// reissueOf describes a certificate that was signed again.
func reissueOf(cert *certificate) Reissue {
	fresh := cert.reissued
	names, _ := mappedNames(fresh, Mapping{})
	item := Reissue{NewKey: !cert.IsCA && cert.rekey != nil, Subject: fresh.Subject.String(), Issuer: fresh.Issuer.String(),
		NotAfter: fresh.NotAfter.UTC().Format(time.RFC3339), Names: names}
	for _, at := range cert.places {
		item.Places = append(item.Places, at.where)
	}
	return item
}

// cannotReissue decides what a leaf that cannot be signed here means.
func (s *scan) cannotReissue(leaf *certificate, cause error) {
	kubelet := func(at place) bool { return strings.HasPrefix(at.where, kubeletServing) }
	if !slices.ContainsFunc(leaf.places, func(at place) bool { return !kubelet(at) }) {
		s.keep(leaf.places, "the kubelet asks for a new one by CSR: "+cause.Error())
		return
	}
	for _, at := range leaf.places {
		if isEssential(at) {
			s.plan.Blocked = append(s.plan.Blocked, Note{at.where, "cannot be re-issued: " + cause.Error()})
			return
		}
	}
	s.keep(leaf.places, "cannot be re-issued: "+cause.Error())
}

// judgeUnread says what comes of certificates that cannot be read, and so not be signed again.
func (s *scan) judgeUnread() {
	for _, u := range s.pki.unread {
		note := Note{u.at.where, u.String()}
		if isEssential(u.at) {
			s.plan.Blocked = append(s.plan.Blocked, note)
		} else {
			s.plan.Kept = append(s.plan.Kept, note)
		}
	}
}

func (s *scan) keep(places []place, why string) {
	for _, at := range places {
		s.plan.Kept = append(s.plan.Kept, Note{at.where, why})
	}
}

func isEssential(at place) bool {
	keys, files := essentialCertificates()
	name := strings.TrimPrefix(at.container, storagePrefix)
	return slices.ContainsFunc(keys, func(p string) bool { return matchKey(p, name) }) ||
		slices.ContainsFunc(files, func(p string) bool { return matchTail(p, at.where) })
}
