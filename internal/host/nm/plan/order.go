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
	s := &sorter{byKey: map[string]*Change{}, state: map[string]int{}}
	var down []*Change
	for _, c := range changes {
		if c.Action != ActUp {
			down = append(down, c)
		} else {
			s.byKey[c.sortKey()] = c
		}
	}
	slices.SortStableFunc(down, func(a, b *Change) int { return cmp.Compare(downRank(a), downRank(b)) })
	for _, key := range slices.Sorted(maps.Keys(s.byKey)) {
		if err := s.visit(key, nil); err != nil {
			return nil, err
		}
	}
	return append(down, s.out...), nil
}

// sortKey tells apart what shares a name: a bridge of Open vSwitch, its port, and its interface.
func (c *Change) sortKey() string { return keyIn(c.Layer(), c.Iface) }

func keyIn(layer profile.Layer, name string) string {
	if layer == profile.LayerLink {
		return name
	}
	return name + " (" + string(layer) + ")"
}

// downRank puts what stands on another interface first, and controllers last.
func downRank(c *Change) int {
	switch {
	case c.Before == nil:
		return 1
	case c.Before.Settings.Base() != "":
		return 0
	case c.Layer() == profile.LayerBridge:
		return 3
	case isController(c.Before.Settings.Kind()):
		return 2
	}
	return 1
}

func isController(kind string) bool {
	return slices.Contains([]string{profile.TypeBond, profile.TypeBridge, profile.TypeVRF, profile.TypeOVSPort}, kind)
}

// sorter is a depth-first topological sort over the keys of the changes.
type sorter struct {
	byKey map[string]*Change
	state map[string]int // 1 being visited, 2 done
	out   []*Change
}

func (s *sorter) visit(key string, path []string) error {
	c, changes := s.byKey[key]
	if !changes || s.state[key] == 2 {
		return nil
	}
	path = append(slices.Clone(path), key)
	if s.state[key] == 1 {
		return fmt.Errorf("these interfaces stand on each other: %s", strings.Join(path, ", "))
	}
	s.state[key] = 1
	for _, before := range s.dependenciesOf(c) {
		if err := s.visit(before, path); err != nil {
			return err
		}
	}
	s.state[key] = 2
	s.out = append(s.out, c)
	return nil
}

// dependenciesOf names what has to be up earlier.
func (s *sorter) dependenciesOf(c *Change) []string {
	var out []string
	if master := c.After.Controller(); master != "" {
		out = append(out, s.controllerKey(master, c.After.ControllerKind()))
	}
	for key, other := range s.byKey {
		if makesPair(other, c) {
			out = append(out, key)
		}
	}
	b := c.After.Base()
	if b == "" {
		return out
	}
	out = append(out, b)
	for _, key := range slices.Sorted(maps.Keys(s.byKey)) {
		// A port that itself stands on this interface cannot come first.
		if s.byKey[key].After.Controller() == b && s.byKey[key].After.Base() == "" {
			out = append(out, key)
		}
	}
	return out
}

// controllerKey is the key of a controller that a profile names by its UUID or its interface.
func (s *sorter) controllerKey(name, kind string) string {
	for key, c := range s.byKey {
		if c.UUID == name {
			return key
		}
	}
	return keyIn(profile.LayerOf(kind), name)
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
