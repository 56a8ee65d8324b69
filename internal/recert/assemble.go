package recert

import (
	"cmp"
	"crypto/x509"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// assemble turns what was found into writes.
func (s *scan) assemble() error {
	s.plan.files = slices.Concat(s.newKeyFiles(), s.plan.files)
	for _, f := range s.files {
		if text := s.pki.replace(f.text); text != f.text {
			f.text, f.changed = text, true
			s.plan.Changes = append(s.plan.Changes, Change{Certificate, f.path, s.whyAgain()})
		}
		if f.changed {
			s.plan.files = append(s.plan.files, fileWrite{cmp.Or(f.movesTo, f.path), []byte(f.text), f.mode})
		}
		if f.movesTo != "" {
			s.plan.stale = append(s.plan.stale, f.path)
		}
	}
	changed := len(s.plan.files)+len(s.plan.members)+len(s.plan.nodes) > 0
	for _, o := range s.objects {
		if err := s.replaceCertificates(o); err != nil {
			return err
		}
		if s.cfg.Expiry != KeepExpiry {
			if err := s.noteValidity(o); err != nil {
				return err
			}
		}
		changed = changed || o.changed
	}
	if err := s.followHashes(); err != nil {
		return err
	}
	if changed && s.mapping.Moves() {
		if err := s.follow(); err != nil {
			return err
		}
	} else {
		s.deletes, s.deleted = nil, nil
	}
	if err := s.followDependencies(); err != nil {
		return err
	}
	for _, o := range s.objects {
		if o.changed {
			s.write(o)
		}
	}
	s.plan.edits = append(s.plan.edits, s.deletes...)
	s.plan.Changes = append(s.plan.Changes, s.deleted...)
	for _, m := range s.plan.members {
		s.plan.Changes = append(s.plan.Changes, Change{Member, "etcd member " + m.Name, "peer URL " + strings.Join(m.PeerURLs, ",")})
	}
	for _, n := range s.plan.nodes {
		s.plan.Changes = append(s.plan.Changes, Change{Delete, n.Key, "the kubelet registers the node again"})
	}
	return nil
}

// write adds a changed object to the writes: one with a new key first, and so one with hashes of others, for those can be told only while
// the others are what they were, or are about to be what the hash says; one that says what the cluster is called last. Of those DNS
// cluster is the very last: where it has the new name, the next run takes the rest for done.
func (s *scan) write(o *object) {
	switch {
	case saysTheName(o.key) && !s.mapping.cluster.empty():
		s.plan.last = append(s.plan.last, s.editsOf(o)...)
		slices.SortFunc(s.plan.last, func(a, b host.Edit) int { return cmp.Compare(b.Key, a.Key) })
	case s.made.holders[o.key], slices.Contains(s.hashing, o):
		s.plan.first = append(s.plan.first, s.editsOf(o)...)
	default:
		s.plan.edits = append(s.plan.edits, s.editsOf(o)...)
	}
}

// newKeyFiles are the files of new keys. They come before the files with their certificates.
func (s *scan) newKeyFiles() []fileWrite {
	var out []fileWrite
	for _, where := range slices.Sorted(maps.Keys(s.made.texts)) {
		if strings.HasPrefix(where, storagePrefix) {
			continue
		}
		text, to := s.made.texts[where], where
		for _, f := range s.files {
			if f.path == where { // it gets another name too
				f.text, to = text, cmp.Or(f.movesTo, to)
			}
		}
		out = append(out, fileWrite{to, []byte(text), 0o600})
	}
	return out
}

// whyAgain says why a certificate is put in the place of another.
func (s *scan) whyAgain() string {
	if s.cfg.reissuesTrees() {
		return "a certificate in it is signed again"
	}
	if s.mapping.Empty() {
		return "names the node by its old name"
	}
	return "names an old address"
}

func (s *scan) replaceCertificates(o *object) error {
	return o.edit(func(at []string, text string) (string, bool) {
		if fresh, ok := s.made.texts[o.key+" "+strings.Join(at, "/")]; ok {
			return fresh, true
		}
		if !mayHoldBlobs(text) {
			return text, false
		}
		replaced := s.pki.replace(text)
		if replaced == text {
			return text, false
		}
		s.plan.Changes = append(s.plan.Changes, Change{Certificate, o.key + " " + strings.Join(at, "/"), s.whyAgain()})
		return replaced, true
	})
}

// noteValidity keeps the notes of library-go's certificate controllers, which renew what they say has expired.
func (s *scan) noteValidity(o *object) error {
	if !o.changed {
		return nil
	}
	var cert *x509.Certificate
	err := o.walk(func(at []string, text string) {
		if matchPath([]string{"data", "tls.crt"}, at) {
			cert = firstCertificate(text)
		}
	})
	if err != nil || cert == nil {
		return err
	}
	return o.edit(func(at []string, text string) (string, bool) {
		for name, when := range map[string]time.Time{"not-before": cert.NotBefore, "not-after": cert.NotAfter} {
			if matchPath([]string{"metadata", "annotations", "auth.openshift.io/certificate-" + name}, at) {
				want := when.UTC().Format(time.RFC3339)
				if want != text {
					s.rewritten(o, at, "validity of the certificate")
				}
				return want, want != text
			}
		}
		return text, false
	})
}

// follow makes the changes that are made only together with others.
func (s *scan) follow() error {
	for _, f := range s.followers {
		before := f.object.value
		if err := f.rule.apply(s.cfg, s.mapping, s.now, f.object); err != nil {
			return err
		}
		if string(before) == string(f.object.value) {
			continue
		}
		s.plan.Changes = append(s.plan.Changes, Change{Rewrite, f.object.key, f.rule.why})
		if !slices.Contains(s.objects, f.object) {
			s.objects = append(s.objects, f.object)
		}
	}
	return nil
}
