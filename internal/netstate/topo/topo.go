// Package topo puts named things into an order in which each comes after those it needs. Packages netstate
// (interfaces) and policy (captures) call it; it imports the standard library only.
package topo

import (
	"fmt"
	"strings"
)

// CycleError is a chain of things that need each other; the last is the first again.
type CycleError struct{ Chain []string }

func (e *CycleError) Error() string {
	return fmt.Sprintf("%s needs itself: %s", e.Chain[0], strings.Join(e.Chain, " -> "))
}

// Sort orders the names so that each comes after its needs; among equals the given order stays. A need that is
// not among the names is passed over. A cycle fails with *CycleError.
func Sort(names []string, needs func(name string) []string) ([]string, error) {
	s := sorter{needs: needs, state: make(map[string]mark, len(names))}
	for _, n := range names {
		s.state[n] = waiting
	}
	for _, n := range names {
		if err := s.visit(n); err != nil {
			return nil, err
		}
	}
	return s.out, nil
}

type mark int

const (
	waiting mark = iota + 1
	open
	done
)

type sorter struct {
	needs func(string) []string
	state map[string]mark
	path  []string
	out   []string
}

func (s *sorter) visit(n string) error {
	switch s.state[n] {
	case 0, done:
		return nil
	case open:
		return s.cycleError(n)
	default: // it is new
	}
	s.state[n] = open
	s.path = append(s.path, n)
	for _, need := range s.needs(n) {
		if err := s.visit(need); err != nil {
			return err
		}
	}
	s.path = s.path[:len(s.path)-1]
	s.state[n] = done
	s.out = append(s.out, n)
	return nil
}

func (s *sorter) cycleError(n string) error {
	for k, p := range s.path {
		if p == n {
			return &CycleError{Chain: append(append([]string(nil), s.path[k:]...), n)}
		}
	}
	return &CycleError{Chain: []string{n, n}}
}
