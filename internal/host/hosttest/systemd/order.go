package systemd

import (
	"maps"
	"path"
	"slices"
)

// BootOrder lists the enabled units as systemd would get to them: what After= and Before= say, else
// oneshots last, because systemd starts the others while they run, else by name.
func (n *Manager) BootOrder() []string {
	n.Enter()
	defer n.Unlock()
	enabled := slices.DeleteFunc(n.EnabledUnits(""), n.isForTrouble)
	slices.SortStableFunc(enabled, func(a, b string) int { return n.rank(a) - n.rank(b) })
	var order []string
	var visit func(unit string)
	seen := map[string]bool{}
	visit = func(unit string) {
		if seen[unit] {
			return
		}
		seen[unit] = true
		for _, other := range enabled {
			if n.ordered(other, unit) {
				visit(other)
			}
		}
		order = append(order, unit)
	}
	for _, unit := range enabled {
		visit(unit)
	}
	return order
}

func (n *Manager) rank(unit string) int {
	if file, _ := n.loadUnit("", unit); file.oneshot() {
		return 1
	}
	return 0
}

// ordered says that a start of second waits for a start of first to end.
func (n *Manager) ordered(first, second string) bool {
	a, _ := n.loadUnit("", first)
	b, _ := n.loadUnit("", second)
	return slices.Contains(a.words("Unit.Before"), second) || slices.Contains(b.words("Unit.After"), first)
}

// WaitsFor names a unit that is starting and that a start of the given one would wait
// for, or "". Called from within that unit, such a start never ends.
func (n *Manager) WaitsFor(unit string) string {
	for _, other := range slices.Sorted(maps.Keys(n.runs)) {
		s := n.runs[other].state
		if other != unit && s.Active == "activating" && s.Sub == "start" && n.ordered(other, unit) {
			return other
		}
	}
	return ""
}

// isForTrouble says that only targets want the unit that a boot in good order does not reach.
func (n *Manager) isForTrouble(unit string) bool {
	return !slices.ContainsFunc(n.wants("", unit), func(link string) bool {
		target := path.Base(path.Dir(link))
		return target != "emergency.target.wants" && target != "rescue.target.wants"
	})
}
