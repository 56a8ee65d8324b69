package replace

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Address is one old address and the one that takes its place.
type Address struct {
	Old netip.Addr `json:"old"`
	New netip.Addr `json:"new"`
}

// Mapping replaces addresses. All changes happen at once, so two addresses may be swapped.
// Its zero value maps nothing.
type Mapping struct {
	to map[netip.Addr]netip.Addr
	// names are replaced in certificates only, where they stand by themselves.
	names map[string]string
	// node is the node's name, in certificates and in the fields of nodeRules.
	Node Name
	// cluster is the cluster's zone, in certificates and in the fields of clusterRules.
	Cluster Cluster
	quick   prefilter
	// overlaps: see Overlaps; it is asked for every text of the cluster.
	overlaps bool
}

// NewMapping checks that every change stays in its family and that none contradicts another.
// Changes of an address to itself are dropped.
func NewMapping(changes []Address) (Mapping, error) {
	m := Mapping{to: map[netip.Addr]netip.Addr{}}
	for _, c := range changes {
		if err := checkPlain(c.Old); err != nil {
			return Mapping{}, err
		}
		if err := checkPlain(c.New); err != nil {
			return Mapping{}, err
		}
		if c.Old.Is4() != c.New.Is4() {
			return Mapping{}, fmt.Errorf("address %s cannot become %s: the family differs", c.Old, c.New)
		}
		if known, ok := m.to[c.Old]; ok && known != c.New {
			return Mapping{}, fmt.Errorf("address %s cannot become both %s and %s", c.Old, known, c.New)
		}
		if c.Old != c.New {
			m.to[c.Old] = c.New
		}
	}
	for _, to := range m.to {
		_, isOld := m.to[to]
		m.overlaps = m.overlaps || isOld
	}
	m.quick = newPrefilter(m)
	return m, nil
}

func checkPlain(a netip.Addr) error {
	if !a.IsValid() || a.Zone() != "" || a.Is4In6() || a.IsUnspecified() {
		return fmt.Errorf("%s is not a plain address", a)
	}
	return nil
}

// Empty reports whether no address changes.
func (m Mapping) Empty() bool { return len(m.to) == 0 }

// WithNames adds names to an address mapping.
func (m Mapping) WithNames(names map[string]string, node Name, cluster Cluster) Mapping {
	m.names, m.Node, m.Cluster = names, node, cluster
	m.quick = newPrefilter(m)
	return m
}

// Moves reports whether the node or the cluster gets another address or name.
func (m Mapping) Moves() bool { return !m.Empty() || !m.Node.Empty() || !m.Cluster.Empty() }

// Name maps a name of a certificate: a name that a rule lists, the node's, one in the cluster's zone, or an address.
func (m Mapping) Name(text string) (string, bool) {
	if to, ok := m.names[text]; ok {
		return to, to != text
	}
	return m.HostOrNode(text)
}

// CommonName maps a certificate's common name, which is a name or a URL.
func (m Mapping) CommonName(text string) (string, bool) {
	if !strings.Contains(text, "://") {
		return m.Name(text)
	}
	to := m.URL(text)
	return to, to != text
}

// URL maps a URL of a certificate.
func (m Mapping) URL(text string) string { return m.Cluster.Text(m.Text(text)) }

// HostOrNode maps a text that is nothing but an address, the node's name or a name in the cluster's zone.
func (m Mapping) HostOrNode(text string) (string, bool) {
	if to, ok := m.Node.mapName(text); ok {
		return to, true
	}
	if to, ok := m.Cluster.Host(text); ok {
		return to, true
	}
	return m.Host(text)
}

// Changes lists the replacements in order of the old address.
func (m Mapping) Changes() []Address {
	var out []Address
	for from, to := range m.to {
		out = append(out, Address{from, to})
	}
	slices.SortFunc(out, func(a, b Address) int { return a.Old.Compare(b.Old) })
	return out
}

// Overlaps reports whether a new address is also an old one (a swap, a chain): then a text does not tell whether it was rewritten.
func (m Mapping) Overlaps() bool { return m.overlaps }

// Get returns what takes the address's place, with the form (IPv4 mapped into IPv6) kept.
func (m Mapping) Get(a netip.Addr) (netip.Addr, bool) {
	to, ok := m.to[a.Unmap()]
	if ok && a.Is4In6() {
		to = netip.AddrFrom16(to.As16())
	}
	return to, ok
}

// Host maps a text that is nothing but an address.
func (m Mapping) Host(text string) (string, bool) {
	a, err := netip.ParseAddr(text)
	if err != nil {
		return text, false
	}
	to, ok := m.Get(a)
	if !ok {
		return text, false
	}
	return to.String(), true
}

// Text maps every address that stands in the text as a word of its own: bare, with a port, in a
// URL, in brackets. An address that is part of a longer word, a range or a network is left.
func (m Mapping) Text(text string) string {
	if m.Empty() || !m.quick.mayMentionOld(text) {
		return text
	}
	var out strings.Builder
	last := 0
	for w := range addressWords(text) {
		to, ok := m.Get(w.addr)
		if !ok || !w.host {
			continue
		}
		out.WriteString(text[last:w.start])
		out.WriteString(to.String())
		last = w.end
	}
	if last == 0 {
		return text
	}
	out.WriteString(text[last:])
	return out.String()
}

// Mentions lists the old addresses that the text still carries in any form, networks and
// ranges included.
func (m Mapping) Mentions(text string) []netip.Addr {
	if m.Empty() || !m.quick.mayMentionOld(text) {
		return nil
	}
	var found []netip.Addr
	add := func(a netip.Addr) {
		if _, ok := m.Get(a); ok && !slices.Contains(found, a.Unmap()) {
			found = append(found, a.Unmap())
		}
	}
	for w := range addressWords(text) {
		add(w.addr)
		add(w.afterLabel(text))
	}
	for _, d := range m.quick.texts { // beside a port, a name or a letter that addresses are written with too
		if d.isSeparateIn(text) {
			add(d.addr)
		}
	}
	return found
}
