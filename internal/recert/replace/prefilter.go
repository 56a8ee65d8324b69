package replace

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// A prefilter compares bytes to find out which of thousands of certificates and texts cannot matter, many times faster than parsing them.
// It errs on the side of "may matter".

// prefilter holds old addresses and names in bytes.
type prefilter struct {
	raw   [][]byte // as in a certificate's iPAddress, and names as they are
	texts []dotted // IPv4 addresses, which have one spelling
	names []string // that texts may mention
}

func newPrefilter(m Mapping) prefilter {
	var g prefilter
	for old := range m.to {
		g.raw = append(g.raw, old.AsSlice())
		if old.Is4() {
			g.texts = append(g.texts, newDotted(old))
			g.raw = append(g.raw, []byte(old.String()))
			mapped := netip.AddrFrom16(old.As16())
			g.raw = append(g.raw, mapped.AsSlice())
		}
	}
	slices.SortFunc(g.texts, func(a, b dotted) int { return a.addr.Compare(b.addr) })
	for name := range m.names {
		g.raw = append(g.raw, []byte(name))
	}
	if !m.Cluster.Zone.Empty() {
		g.raw = append(g.raw, []byte(m.Cluster.Zone.Old))
		g.names = append(g.names, m.Cluster.Zone.Old)
	}
	if !m.Node.Empty() {
		g.raw = append(g.raw, []byte(m.Node.Old))
	}
	return g
}

// MayMatter reports whether a certificate may name what is replaced, or be an authority.
func (m Mapping) MayMatter(der []byte) bool {
	return m.Carries(der) || mayBeAuthority(der) || hasAddress6(wire.TextOf(der))
}

// Carries reports whether the bytes of an old address or name are in a certificate.
func (m Mapping) Carries(der []byte) bool { return m.quick.mayNameOld(der) }

// MayMention reports whether a value may mention an old address or name.
func (m Mapping) MayMention(text string) bool {
	return slices.ContainsFunc(m.quick.names, func(n string) bool { return strings.Contains(text, n) }) || m.quick.mayMentionOld(text)
}

// mayNameOld reports whether the bytes of an old address or name are in a certificate.
func (g prefilter) mayNameOld(der []byte) bool {
	for _, b := range g.raw {
		if bytes.Contains(der, b) {
			return true
		}
	}
	return false
}

// mayMentionOld reports whether a text may mention an old address.
func (g prefilter) mayMentionOld(text string) bool {
	for _, s := range g.texts {
		if s.isWithin(text) {
			return true
		}
	}
	return hasAddress6(text)
}

// dotted is an IPv4 address as text, cut before its first dot. The search starts at the dot, which base64 does not have: most of a
// cluster's texts are certificates.
type dotted struct {
	addr       netip.Addr
	head, tail string
}

func newDotted(a netip.Addr) dotted {
	text := a.String()
	dot := strings.IndexByte(text, '.')
	return dotted{a, text[:dot], text[dot:]}
}

// isWithin reports whether the text has the address, even as part of a longer word.
func (d dotted) isWithin(text string) bool {
	return d.hasOccurrence(text, func(string, string) bool { return true })
}

// isSeparateIn reports whether the text has the address with no other number before or after it.
func (d dotted) isSeparateIn(text string) bool {
	isDigit := func(text string) bool { return text != "" && '0' <= text[0] && text[0] <= '9' }
	return d.hasOccurrence(text, func(before, after string) bool {
		shorter := strings.TrimSuffix(before, ".")
		return !isDigit(shorter[max(0, len(shorter)-1):]) && !isDigit(strings.TrimPrefix(after, "."))
	})
}

// hasOccurrence searches for an occurrence with the wanted text around it.
func (d dotted) hasOccurrence(text string, wanted func(before, after string) bool) bool {
	for from := 0; ; from++ {
		i := strings.Index(text[from:], d.tail)
		if i < 0 {
			return false
		}
		from += i
		if before, ok := strings.CutSuffix(text[:from], d.head); ok && wanted(before, text[from+len(d.tail):]) {
			return true
		}
	}
}

// basicConstraints is the encoded identifier of the extension that makes a certificate an authority's.
var basicConstraints = []byte{0x06, 0x03, 0x55, 0x1d, 0x13}

func mayBeAuthority(der []byte) bool {
	i := bytes.Index(der, basicConstraints)
	if i < 0 {
		return false
	}
	// After the identifier: [critical 01 01 ff] 04 len 30 len [cA 01 01 ff]. An empty SEQUENCE is no authority's.
	rest := bytes.TrimPrefix(der[i+len(basicConstraints):], []byte{0x01, 0x01, 0xff})
	return !bytes.HasPrefix(rest, []byte{0x04, 0x02, 0x30, 0x00})
}

// colons6 is how many colons an IPv6 address has at least that is not shortened: six before an IPv4 address, seven otherwise.
const colons6 = 6

// hasAddress6 reports whether a text may hold an IPv6 address in whatever spelling: two colons side by side, or six with at most four hex
// digits between each two. A time of day has too few of them.
func hasAddress6(text string) bool {
	colons, last := 0, 0
	for i := wire.IndexColon(text, 0); i >= 0; last, i = i, wire.IndexColon(text, i+1) {
		switch between := text[min(last+1, i):i]; {
		case colons == 0:
		case between == "":
			return true
		case !isGroup(between):
			colons = 0
		}
		if colons++; colons == colons6 {
			return true
		}
	}
	return false
}

// isGroup reports whether a text is one of the groups of an IPv6 address.
func isGroup(text string) bool {
	for i := range len(text) {
		if !isHex(text[i]) {
			return false
		}
	}
	return len(text) <= 4
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
