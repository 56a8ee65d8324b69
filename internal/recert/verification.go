package recert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"
)

// Verification is the result of Verify.
type Verification struct {
	// Problems say what would not work. The cluster is sound if there are none.
	Problems []Note `json:"problems,omitempty"`
	// Leftovers lists mentions of an old address in places that nobody changes, for people to look at.
	Leftovers []Note `json:"leftovers,omitempty"`
	// Unknown lists leaf certificates whose authority is not in the cluster, so that nothing can be said about them.
	Unknown []Note `json:"unknown,omitempty"`
	// Checked counts the leaf certificates that were proved.
	Checked int `json:"checked"`
}

// OK says that there is no problem.
func (v *Verification) OK() bool { return len(v.Problems) == 0 }

// Verify proves that the cluster is as the configuration asks: every leaf certificate is signed by its authority and
// matches the key beside it, nothing that a run would change is left, and nothing is back that a run replaced. It writes nothing.
func (e *Engine) Verify(ctx context.Context, configPath string) (*Verification, error) {
	cfg, record, err := e.load(configPath)
	if err != nil {
		return nil, err
	}
	out := &Verification{}
	err = e.survey(ctx, cfg, record, func(s *scan) error {
		for _, resource := range slices.Sorted(maps.Keys(s.encrypted)) {
			out.problem(resource, "%d objects are encrypted at rest and were not read", s.encrypted[resource])
		}
		out.Leftovers = s.plan.Leftovers
		out.proveLeaves(s)
		out.unfinished(s)
		out.proveRecord(s, record, progressPath(configPath))
		out.proveServerKeys(cfg, record, e.ports.Files)
		out.proveTrees(s, e.ports.Files)
		return nil
	})
	return out, err
}

func (v *Verification) problem(where, format string, args ...any) {
	v.Problems = append(v.Problems, Note{where, fmt.Sprintf(format, args...)})
}

// unfinished reports what a run would still change.
func (v *Verification) unfinished(s *scan) {
	for _, c := range s.plan.Changes {
		if !s.mapping.Overlaps() || !s.byAddress[c.Where] {
			v.problem(c.Where, "still to be changed: %s", c.Why)
		}
	}
	if s.mapping.Overlaps() {
		v.writtenSince(s)
		return
	}
	for _, m := range s.plan.members {
		v.problem("etcd member "+m.Name, "still has a peer URL of the old address")
	}
	for _, leaf := range s.pki.leaves {
		if _, _, err := s.pki.issuer(leaf); err == nil {
			v.problem(leaf.places[0].where, "the certificate still names an old address")
		}
	}
}

func (v *Verification) proveLeaves(s *scan) {
	for _, u := range s.pki.unread {
		if isEssential(u.at) {
			v.problem(u.at.where, "%s", u)
		} else {
			v.Unknown = append(v.Unknown, Note{u.at.where, u.String()})
		}
	}
	for _, leaf := range s.pki.everything() {
		if leaf.IsCA {
			continue
		}
		candidates := s.pki.candidates(leaf)
		switch {
		case s.pki.signerOf(leaf) != nil:
			v.Checked++
		case len(candidates) == 0:
			why := fmt.Sprintf("its authority %q is not in the cluster", leaf.Issuer.CommonName)
			v.Unknown = append(v.Unknown, Note{leaf.places[0].where, why})
		default:
			v.problem(leaf.places[0].where, "is not signed by its authority %q", leaf.Issuer.CommonName)
		}
		v.proveCover(s, leaf)
		for _, at := range leaf.places {
			if err := s.pki.matchesKeyBeside(leaf, at); err != nil {
				v.problem(at.where, "%v", err)
			}
		}
	}
}

// proveCover demands that what the control plane cannot start without names where the node is now.
func (v *Verification) proveCover(s *scan, leaf *certificate) {
	if s.mapping.Empty() || !slices.ContainsFunc(leaf.places, isEssential) {
		return
	}
	names, _ := mappedNames(leaf.Certificate, Mapping{})
	for _, a := range s.newAddresses() {
		if !slices.Contains(names, a.String()) {
			v.problem(leaf.places[0].where, "the certificate does not name the new address %s", a)
		}
	}
}

// newAddresses are those of the node. Of addresses that overlap one is somebody else's, and only the configuration's "ip" tells which.
func (s *scan) newAddresses() []netip.Addr {
	if s.mapping.Overlaps() {
		return s.cfg.IPs
	}
	var out []netip.Addr
	for _, c := range s.mapping.Changes() {
		out = append(out, c.New)
	}
	return out
}

// matchesKeyBeside compares the first certificate of "x.crt" with the key "x.key" of the same object or folder.
func (p *pki) matchesKeyBeside(leaf *certificate, at place) error {
	stem, isCert := strings.CutSuffix(at.where, ".crt")
	if !isCert || at.index > 0 {
		return nil
	}
	for _, k := range p.keysIn[at.container] {
		if k.where == stem+".key" && k.private() != nil && !k.belongsTo(leaf.PublicKey) {
			return errors.New("does not match the key " + path.Base(k.where) + " beside it")
		}
	}
	return nil
}

// candidates are the authorities that may have signed a certificate, by name and key identifier.
func (p *pki) candidates(cert *certificate) []*certificate {
	list := slices.Clone(p.cas[string(cert.RawIssuer)])
	if !cert.IsCA && bytes.Equal(cert.RawIssuer, cert.RawSubject) {
		list = append(list, cert) // signed by itself
	}
	return slices.DeleteFunc(list, func(ca *certificate) bool {
		return len(cert.AuthorityKeyId) > 0 && len(ca.SubjectKeyId) > 0 && !bytes.Equal(cert.AuthorityKeyId, ca.SubjectKeyId)
	})
}

// YAML renders the result for machines.
func (v *Verification) YAML() ([]byte, error) { return marshalYAML(v) }

// JSON renders the result with the same fields as YAML.
func (v *Verification) JSON() ([]byte, error) { return marshalJSON(v) }

// WriteText renders the result for a person.
func (v *Verification) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d leaf certificates proved, %d problems.\n", v.Checked, len(v.Problems))
	notes(&b, "Problems", v.Problems)
	notes(&b, "Not known", v.Unknown)
	notes(&b, "Other mentions of an old address", v.Leftovers)
	_, err := io.WriteString(w, b.String())
	return err
}
