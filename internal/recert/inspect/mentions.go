package inspect

import (
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// reportLeftover notes a mention of an old address that no rule replaced, and what of the text could not be looked into. Where old and new
// addresses overlap, mentions mean nothing.
func (s *Survey) reportLeftover(where func() string, text string) {
	carried := wire.DataURLs(text)
	for _, c := range carried {
		if c.Unread != "" {
			s.NotRead = append(s.NotRead, Note{where(), c.Unread})
		}
	}
	if wire.BrokenKubeconfig(text) {
		s.NotRead = append(s.NotRead, Note{where(), "a field of a kubeconfig is not base64"})
	}
	if why := wire.BrokenPEM(text); why != "" {
		s.NotRead = append(s.NotRead, Note{where(), why})
	}
	if s.Mapping.Overlaps() {
		return
	}
	for _, a := range s.Mapping.Mentions(text) {
		s.addLeftover(where(), "mentions "+a.String())
	}
	if s.Mapping.Cluster.Mentions(text) {
		s.addLeftover(where(), "mentions "+s.Mapping.Cluster.Zone.Old)
	}
	for _, c := range carried {
		for _, a := range s.Mapping.Mentions(c.Content) {
			s.addLeftover(where(), "mentions "+a.String()+" inside a data URL")
		}
		if c.Compressed && s.PKI.NamesOld(c.Content) {
			s.addLeftover(where(), "has a certificate with an old address or name, compressed inside a data URL")
		}
	}
}

func (s *Survey) addLeftover(where, why string) { s.Leftovers = append(s.Leftovers, Note{where, why}) }

// reportMentions notes the parts of certificates that mention an old address and are not rewritten.
func (s *Survey) reportMentions() {
	if s.Mapping.Overlaps() {
		return
	}
	for _, cert := range s.PKI.Mentioning {
		for _, at := range cert.Places {
			for _, mention := range cert.Mentions {
				s.addLeftover(at.Where, mention)
			}
		}
	}
}
