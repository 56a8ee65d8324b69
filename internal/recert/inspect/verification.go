package inspect

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/certs"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
)

// Verification is the result of Verify.
type Verification struct {
	// Problems are what would not work. The cluster is sound if there are none.
	Problems []Note `json:"problems,omitempty"`
	// Leftovers lists mentions of an old address in places that no run changes, for review.
	Leftovers []Note `json:"leftovers,omitempty"`
	// Unknown lists what cannot be verified, such as leaf certificates whose authority is not in the cluster.
	Unknown []Note `json:"unknown,omitempty"`
	// Checked counts the leaf certificates that were proved.
	Checked int `json:"checked"`
}

// OK reports whether there is no problem.
func (v *Verification) OK() bool { return len(v.Problems) == 0 }

// Verify proves that the cluster is as the configuration asks: every leaf certificate is signed by its authority and
// matches the key beside it, nothing that a run would change is left, and nothing is back that a run replaced. It writes nothing.
func Verify(ctx context.Context, p Ports, configPath string) (*Verification, error) {
	cfg, record, err := config.Load(p.Files, configPath)
	if err != nil {
		return nil, fmt.Errorf("load what to verify: %w", err)
	}
	out := &Verification{}
	err = withSurvey(ctx, p, cfg, record, func(s *Survey) error {
		for _, resource := range slices.Sorted(maps.Keys(s.encrypted)) {
			out.addProblem(resource, "%d objects are encrypted at rest and were not read", s.encrypted[resource])
		}
		out.Unknown = s.unreadForeign("encrypted at rest and cannot be read")
		out.Unknown = append(out.Unknown, s.NotRead...)
		out.Leftovers = s.Leftovers
		out.proveLeaves(s)
		out.addUnfinished(s)
		out.proveRecord(s, record, config.RecordPath(configPath))
		out.proveServerKeys(cfg, record, p.Files)
		out.proveTrees(s, p.Files)
		return nil
	})
	return out, err
}

func (v *Verification) addProblem(where, format string, args ...any) {
	v.Problems = append(v.Problems, Note{where, fmt.Sprintf(format, args...)})
}

func (v *Verification) addUnknown(where, format string, args ...any) {
	v.Unknown = append(v.Unknown, Note{where, fmt.Sprintf(format, args...)})
}

// addUnfinished reports what a run would still change.
func (v *Verification) addUnfinished(s *Survey) {
	for _, c := range s.Changes {
		if !s.Mapping.Overlaps() || !s.byAddress[c.Where] {
			v.addProblem(c.Where, "not yet changed: %s", c.Why)
		}
	}
	if s.Mapping.Overlaps() {
		v.writtenSince(s)
		return
	}
	for _, m := range s.Members {
		v.addProblem("etcd member "+m.Name, "still has a peer URL of the old address")
	}
	for _, leaf := range s.PKI.Leaves {
		if _, err := s.PKI.SigningOf(leaf, rules.HasEssentialPlace(leaf)); err != nil {
			v.addUnknown(leaf.Places[0].Where, "the certificate names an old address and cannot be re-issued: %v", err)
			continue
		}
		v.addProblem(leaf.Places[0].Where, "the certificate still names an old address")
	}
}

func (v *Verification) proveLeaves(s *Survey) {
	for _, u := range s.PKI.Unread {
		if rules.IsEssential(u.At) {
			v.addProblem(u.At.Where, "%s", u)
		} else {
			v.Unknown = append(v.Unknown, Note{u.At.Where, u.String()})
		}
	}
	for _, leaf := range s.PKI.Everything() {
		if leaf.IsCA {
			continue
		}
		candidates := s.PKI.Candidates(leaf)
		switch {
		case s.PKI.SignerOf(leaf) != nil:
			v.Checked++
		case len(candidates) == 0:
			v.addUnknown(leaf.Places[0].Where, "its authority %q is not in the cluster", leaf.Issuer.CommonName)
		case !certs.IsVerified(leaf.SignatureAlgorithm):
			_, _, err := s.PKI.Issuer(leaf)
			v.addUnknown(leaf.Places[0].Where, "%v", err)
		default:
			v.addProblem(leaf.Places[0].Where, "is not signed by its authority %q", leaf.Issuer.CommonName)
		}
		v.proveCover(s, leaf)
		for _, at := range leaf.Places {
			if err := s.PKI.MatchesKeyBeside(leaf, at); err != nil {
				v.addProblem(at.Where, "%v", err)
			}
		}
	}
}

// proveCover reports essential certificates that do not name the node's new addresses.
func (v *Verification) proveCover(s *Survey, leaf *certs.Certificate) {
	if s.Mapping.Empty() || !rules.HasEssentialPlace(leaf) {
		return
	}
	names := certs.NamesOf(leaf.Certificate)
	for _, a := range s.newAddresses() {
		if !slices.Contains(names, a.String()) {
			v.addProblem(leaf.Places[0].Where, "the certificate does not name the new address %s", a)
		}
	}
}

// newAddresses are those of the node. Of overlapping addresses only those in the configuration's "ip" are.
func (s *Survey) newAddresses() []netip.Addr {
	if s.Mapping.Overlaps() {
		return s.Config.IPs
	}
	var out []netip.Addr
	for _, c := range s.Mapping.Changes() {
		out = append(out, c.New)
	}
	return out
}

// WriteText renders the result for a person.
func (v *Verification) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s proved, %s.\n", Count(v.Checked, "leaf certificate"), Count(len(v.Problems), "problem"))
	WriteNotes(&b, "Problems", v.Problems)
	WriteNotes(&b, "Unknown", v.Unknown)
	WriteNotes(&b, "Other mentions of an old address", v.Leftovers)
	_, err := io.WriteString(w, b.String())
	return err
}
