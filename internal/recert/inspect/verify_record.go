package inspect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/certs"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
)

// proveRecord compares the cluster with the record of the run, for what the data does not tell: extended certificates, swapped addresses.
func (v *Verification) proveRecord(s *Survey, record config.Record, path string) {
	switch {
	case record.Done:
	case len(record.After) > 0:
		v.addProblem(path, "a run was interrupted: apply completes it")
	case s.Config.Expiry == config.ExtendExpiry || s.Config.ServerSSHKeys != "" || s.Mapping.Overlaps():
		v.addProblem(path, "records no run with this configuration, and without a record its result cannot be verified")
	}
	for _, cert := range s.PKI.Everything() {
		if _, replaced := record.Certificates[config.Hash(cert.Raw)]; !replaced {
			continue
		}
		for _, at := range cert.Places {
			v.addProblem(at.Where, "has the certificate of %q that the run replaced", cert.Subject)
		}
	}
}

// writtenSince lists the places that changed since the run, where an old address may be a new one as well.
func (v *Verification) writtenSince(s *Survey) {
	for _, c := range s.Changes {
		if s.byAddress[c.Where] {
			v.Unknown = append(v.Unknown, Note{c.Where, "changed since the run, and old and new addresses overlap: " + c.Why})
		}
	}
	for _, m := range s.Members {
		why := fmt.Sprintf("its peer URLs changed since the run, which may be intended: a run would set %v", m.PeerURLs)
		v.Unknown = append(v.Unknown, Note{"etcd member " + m.Name, why})
	}
}

// proveServerKeys lists the SSH host keys that changed since the run.
func (v *Verification) proveServerKeys(cfg config.Config, record config.Record, files host.Files) {
	if cfg.ServerSSHKeys == "" {
		return
	}
	for _, at := range slices.Sorted(maps.Keys(record.After)) {
		if !strings.HasPrefix(at, cfg.ServerSSHKeys+"/") {
			continue
		}
		if text, err := files.Read(at); err != nil || !record.Settled(at, text) {
			v.Unknown = append(v.Unknown, Note{at, "is not the SSH host key that the run generated"})
		}
	}
}

// proveTrees reports the certificates that the rules for names, keys, certificates and an end of validity still reach. Extended ones are
// left to proveRecord.
func (v *Verification) proveTrees(s *Survey, files host.Files) {
	cfg := s.Config
	if cfg.Expiry == config.ExtendExpiry {
		cfg.Expiry = config.KeepExpiry
	}
	if !cfg.ReissuesTrees() {
		return
	}
	t := certs.NewTree(cfg, s.Mapping, s.Now, s.PKI)
	t.IsEssential = rules.HasEssentialPlace
	if err := t.Load(files); err != nil { // they are wiped after an IP change
		v.Unknown = append(v.Unknown, Note{"use_key_rules, use_cert_rules", err.Error()})
		return
	}
	for _, cert := range s.PKI.Everything() {
		if t.Unfinished(cert) {
			v.addProblem(cert.Places[0].Where, "the certificate of %q has not been re-issued or replaced", cert.Subject)
		}
	}
}
