package recert

import (
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// proveTrees demands that no certificate is left that the rules for names, keys, certificates and an end of validity reach. Whether one was
// extended cannot be told by looking at it (proveRecord).
func (v *Verification) proveTrees(s *scan, files host.Files) {
	cfg := s.cfg
	if cfg.Expiry == ExtendExpiry {
		cfg.Expiry = KeepExpiry
	}
	if !cfg.reissuesTrees() {
		return
	}
	t := &tree{cfg: cfg, names: s.mapping, now: s.now, pki: s.pki}
	if err := t.load(files); err != nil { // they are wiped after an IP change
		v.Unknown = append(v.Unknown, Note{"use_key_rules, use_cert_rules", err.Error()})
		return
	}
	for _, cert := range s.pki.everything() {
		if t.unfinished(cert) {
			v.problem(cert.places[0].where, "the certificate of %q is still to be signed again, or replaced", cert.Subject)
		}
	}
}

// unfinished says that a run would replace the certificate, or sign it again for its own sake.
func (t *tree) unfinished(cert *certificate) bool {
	if given, ok := t.certs[cert.Subject.CommonName]; ok && cert.IsCA {
		return !given.Equal(cert.Certificate)
	}
	signer := t.pki.signerIn(cert)
	return signer != nil && t.keyOf(signer) != nil && t.changeOf(cert, signer) != nil
}
