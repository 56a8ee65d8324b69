package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
)

// inOrder sorts changes: what goes away first, because it frees addresses and ports, the top of a stack before its base;
// then what comes up: controllers before their ports, and base interfaces with their ports before what stands on them.
func inOrder(changes []*Change) ([]*Change, error) {
	s := &sorter{byName: map[string]*Change{}, state: map[string]int{}}
	var down []*Change
	for _, c := range changes {
		if c.Action != ActUp {
			down = append(down, c)
		} else {
			s.byName[c.Iface] = c
		}
	}
	slices.SortStableFunc(down, func(a, b *Change) int { return cmp.Compare(downRank(a), downRank(b)) })
	for _, name := range slices.Sorted(maps.Keys(s.byName)) {
		if err := s.visit(name, nil); err != nil {
			return nil, err
		}
	}
	return append(down, s.out...), nil
}

// downRank puts what stands on another interface first, and controllers last.
func downRank(c *Change) int {
	switch {
	case c.Before == nil:
		return 1
	case base(c.Before.Settings) != "":
		return 0
	case isController(c.Before.Settings.Kind()):
		return 2
	}
	return 1
}

func isController(kind string) bool {
	return slices.Contains([]string{profile.TypeBond, profile.TypeBridge, profile.TypeVRF}, kind)
}

// base is the interface that a link stands on; empty for none.
func base(s profile.Settings) string {
	switch s.Kind() {
	case profile.TypeVLAN:
		return profile.Value[string](s, profile.TypeVLAN, "parent")
	case profile.TypeMACVLAN:
		return profile.Value[string](s, profile.TypeMACVLAN, "parent")
	}
	return ""
}

// sorter is a depth-first topological sort over the names of the interfaces that change.
type sorter struct {
	byName map[string]*Change
	state  map[string]int // 1 being visited, 2 done
	out    []*Change
}

func (s *sorter) visit(name string, path []string) error {
	c, changes := s.byName[name]
	if !changes || s.state[name] == 2 {
		return nil
	}
	path = append(slices.Clone(path), name)
	if s.state[name] == 1 {
		return fmt.Errorf("these interfaces stand on each other: %s", strings.Join(path, ", "))
	}
	s.state[name] = 1
	for _, before := range s.before(c) {
		if err := s.visit(before, path); err != nil {
			return err
		}
	}
	s.state[name] = 2
	s.out = append(s.out, c)
	return nil
}

// before names what has to be up earlier.
func (s *sorter) before(c *Change) []string {
	var out []string
	if master := profile.Value[string](c.After, "connection", "master"); master != "" {
		out = append(out, master)
	}
	for name, other := range s.byName {
		if makesPair(other, c) {
			out = append(out, name)
		}
	}
	b := base(c.After)
	if b == "" {
		return out
	}
	out = append(out, b)
	for _, name := range slices.Sorted(maps.Keys(s.byName)) {
		// A port that itself stands on this interface cannot come first.
		if profile.Value[string](s.byName[name].After, "connection", "master") == b && base(s.byName[name].After) == "" {
			out = append(out, name)
		}
	}
	return out
}

// makesPair says that a change makes the pair that the other one has the second end of. Where each end names the other, the
// first by name makes both.
func makesPair(c, other *Change) bool {
	peer := func(c *Change) string { return profile.Value[string](c.After, profile.TypeVeth, "peer") }
	kind := other.After.Kind()
	if c.Before != nil || peer(c) != other.Iface || kind != profile.TypeEthernet && kind != profile.TypeVeth {
		return false
	}
	return other.Before != nil || peer(other) != c.Iface || c.Iface < other.Iface
}
