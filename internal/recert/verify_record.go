package recert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// proveRecord holds the cluster against what the run wrote down of itself: an extended certificate, or one of two addresses that were
// swapped, looks like any other.
func (v *Verification) proveRecord(s *scan, record progress, path string) {
	switch {
	case record.Done:
	case len(record.After) > 0:
		v.problem(path, "a run was interrupted: apply completes it")
	case s.cfg.Expiry == ExtendExpiry || s.cfg.ServerSSHKeys != "" || s.mapping.Overlaps():
		v.problem(path, "tells of no run with this configuration, and what one changes cannot be told by looking")
	}
	for _, cert := range s.pki.everything() {
		if _, replaced := record.Certificates[fingerprintOf(cert.Raw)]; !replaced {
			continue
		}
		for _, at := range cert.places {
			v.problem(at.where, "has the certificate of %q that the run replaced", cert.Subject)
		}
	}
}

// writtenSince lists the places with an old address that are not as the run left them, where an old address may be a new one as well.
func (v *Verification) writtenSince(s *scan) {
	for _, c := range s.plan.Changes {
		if s.byAddress[c.Where] {
			v.Unknown = append(v.Unknown, Note{c.Where, "is not as a run left it, and old and new addresses are the same: " + c.Why})
		}
	}
	for _, m := range s.plan.members {
		why := fmt.Sprintf("its peer URLs are not as a run left them, which may be right: it would make them %v", m.PeerURLs)
		v.Unknown = append(v.Unknown, Note{"etcd member " + m.Name, why})
	}
}

// proveServerKeys lists the SSH host keys that somebody changed after the run had made them.
func (v *Verification) proveServerKeys(cfg Config, record progress, files host.Files) {
	if cfg.ServerSSHKeys == "" {
		return
	}
	for _, at := range slices.Sorted(maps.Keys(record.After)) {
		if !strings.HasPrefix(at, cfg.ServerSSHKeys+"/") {
			continue
		}
		if text, err := files.Read(at); err != nil || !record.settled(at, text) {
			v.Unknown = append(v.Unknown, Note{at, "is not the SSH host key that the run made"})
		}
	}
}
